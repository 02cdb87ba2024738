import type { Serde } from '../../serdes/serde.ts';
import { changelogTopic, type Logging } from '../store-builders.ts';
import type { StoreBuilder, StoreSettings } from '../store.ts';
import { ChangeBuffer, type BufferOptions } from './change-buffer.ts';
import { RecordBuffer } from './record-buffer.ts';

interface BufferBuilderOptions {
  readonly name: string;
  readonly key: Serde<unknown> | null;
  readonly value: Serde<unknown> | null;
  readonly logging?: Logging | undefined;
}

/** The buffer of one `suppress`. */
export function changeBuffer(
  options: BufferBuilderOptions,
): StoreBuilder<ChangeBuffer<unknown, unknown>> {
  return {
    ...described(options),
    bind(settings) {
      const resolved = resolve(options, settings);
      return () => new ChangeBuffer(resolved, settings.dslKeepsHeaders);
    },
  };
}

/** The buffer of one stream-table join with a grace period. */
export function recordBuffer(
  options: BufferBuilderOptions,
  graceMs: number,
): StoreBuilder<RecordBuffer<unknown, unknown>> {
  return {
    ...described(options),
    bind(settings) {
      const resolved = resolve(options, settings);
      return () => new RecordBuffer(resolved, graceMs);
    },
  };
}

function described(
  options: BufferBuilderOptions,
): Pick<StoreBuilder, 'name' | 'isLogged' | 'changelogConfig'> {
  const { name, logging } = options;
  const user = typeof logging === 'object' ? logging : {};
  const config = { 'message.timestamp.type': 'CreateTime', 'cleanup.policy': 'compact', ...user };
  return {
    name,
    isLogged: logging !== false,
    changelogConfig: () => new Map(Object.entries(config)),
  };
}

function resolve(
  options: BufferBuilderOptions,
  settings: StoreSettings,
): BufferOptions<unknown, unknown> {
  const { name, key, value } = options;
  const topic = changelogTopic(settings.applicationId, name);
  const owner = `The store ${name}`;
  return {
    name,
    topic,
    key: settings.serdes.key(key, owner, topic),
    value: settings.serdes.value(value, owner, topic),
  };
}
