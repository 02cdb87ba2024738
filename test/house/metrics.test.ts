/** docs/metrics.md is generated: it says what is measured, no more and no less. */
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { documentedMetrics } from '../support/documented-metrics.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

describe('docs/metrics.md', () => {
  it('is what scripts/metrics.mjs writes', () => {
    const script = join(root, 'scripts', 'metrics.mjs');
    const result = spawnSync(process.execPath, [script, '--check'], { encoding: 'utf8' });
    expect(result.status, result.stderr).toBe(0);
  });

  it('has every metric once in its group, with type, unit, level, tags and meaning', () => {
    const metrics = documentedMetrics();
    expect(metrics.length).toBeGreaterThan(120);
    const keys = metrics.map(({ group, name }) => `${group}/${name}`);
    expect(keys.filter((key, i) => keys.indexOf(key) !== i)).toEqual([]);
    for (const { name, type, unit, level, tags, description } of metrics) {
      expect(type, name).toMatch(/^(counter|gauge|text)$/);
      expect(level, name).toMatch(/^(INFO|DEBUG)$/);
      expect(tags.length, name).toBeGreaterThan(0);
      expect(description.length, name).toBeGreaterThan(10);
      if (type === 'counter') expect(name).toMatch(/-total$/);
      if (name.endsWith('-rate')) expect(unit, name).toMatch(/^[a-z]+\/s$/);
      if (/-ratio|utilization/.test(name)) expect(unit, name).toBe('ratio');
      if (name.endsWith('-latency-avg')) expect(unit, name).toMatch(/^(ms|ns)$/);
    }
  });
});
