import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface DocumentedMetric {
  readonly group: string;
  readonly name: string;
  readonly type: string;
  readonly unit: string;
  readonly level: string;
  readonly tags: readonly string[];
  readonly description: string;
}

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

/** The rows of docs/metrics.md. */
export function documentedMetrics(): DocumentedMetric[] {
  const page = readFileSync(join(root, 'docs', 'metrics.md'), 'utf8');
  return [...page.matchAll(/^## (stream-[a-z-]+)\n([^#]*)/gm)].flatMap(
    ([, group = '', part = '']) =>
      [...part.matchAll(/^\| `([a-z0-9-]+)` \|(.*)\|$/gm)].map(([, name = '', rest = '']) => {
        const [type = '', unit = '', level = '', tags = '', description = ''] = rest
          .split('|')
          .map((cell) => cell.trim());
        const names = [...tags.matchAll(/`([^`]+)`/g)].map(([, tag = '']) => tag);
        return { group, name, type, unit, level, tags: names, description };
      }),
  );
}
