import type { StreamsConfigInput } from '@millrace/runtime';
import type { Config } from './case.ts';
import { serdeOf } from './codec.ts';
import { timestampExtractor } from './extractors.ts';

export const APPLICATION_ID = 'golden';

/** A case's configuration, whose class-valued keys have short names, as a driver takes it. */
export function settingsOf(config: Config): StreamsConfigInput {
  const settings: Record<string, unknown> = { 'application.id': APPLICATION_ID };
  for (const [key, value] of Object.entries(config)) {
    const setting = value === null ? undefined : settingOf(key, value);
    if (setting !== undefined) settings[key] = setting;
  }
  return settings as StreamsConfigInput;
}

function settingOf(key: string, value: string | number | boolean): unknown {
  switch (key) {
    case 'default.key.serde':
    case 'default.value.serde':
      return serdeOf(String(value));
    case 'default.timestamp.extractor':
      return timestampExtractor(value);
    case 'production.exception.handler':
      // The cases' handler goes on whatever happened; it writes no dead letter, as the built-in one would.
      return () => 'continue';
    case 'processing.guarantee':
      // In a driver no transaction can be seen.
      return undefined;
    default:
      return value;
  }
}
