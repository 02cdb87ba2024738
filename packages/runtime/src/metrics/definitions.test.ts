import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { absentMetrics } from './absent-metrics.ts';
import { metricDefinitions, storeScopes } from './definitions.ts';
import { VERSION } from './version.ts';

interface KafkasMetric {
  readonly group: string;
  readonly name: string;
  /** null: a value without a sensor, which is there at every level. */
  readonly level: string | null;
  readonly tags: readonly string[];
}

/** What Kafka Streams 4.4.0 has, as it was read from a running application (KafkaStreamsMetrics.java). */
const kafkas: readonly KafkasMetric[] = readFileSync(
  new URL('./fixtures/kafka-streams-metrics.tsv', import.meta.url),
  'utf8',
)
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => {
    const [group = '', name = '', level = '', tags = ''] = line.split('\t');
    return { group, name, level: level === '-' ? null : level, tags: tags.split(',') };
  });

const key = ({ group, name }: { group: string; name: string }): string => `${group}/${name}`;
const byKey = new Map(kafkas.map((metric) => [key(metric), metric]));

describe('the table of metrics', () => {
  it('has Kafka Streams’ groups, names, tags and levels', () => {
    const claimed = metricDefinitions.filter(({ isKafkas }) => isKafkas);
    expect(claimed.length).toBeGreaterThan(75);
    for (const definition of claimed) {
      const kafkasOwn = byKey.get(key(definition));
      expect(kafkasOwn, key(definition)).toBeDefined();
      expect([...definition.tags].sort(), key(definition)).toEqual(
        [...(kafkasOwn?.tags ?? [])].sort(),
      );
      expect(definition.level, key(definition)).toBe(kafkasOwn?.level ?? 'INFO');
    }
  });

  it('says which names are not Kafka Streams’', () => {
    const own = metricDefinitions.filter(({ isKafkas }) => !isKafkas);
    expect(own.length).toBeGreaterThan(5);
    expect(own.map(key).filter((one) => byKey.has(one))).toEqual([]);
  });

  it('names what Kafka Streams has and it has not, each for a reason', () => {
    const there = new Set(metricDefinitions.map(key));
    const absent = absentMetrics.flatMap(({ group, names }) =>
      names.map((name) => key({ group, name })),
    );
    expect(absent.filter((one) => there.has(one))).toEqual([]);
    expect([...absent].sort()).toEqual([...byKey.keys()].filter((one) => !there.has(one)).sort());
    for (const { reason } of absentMetrics) expect(reason.length).toBeGreaterThan(15);
  });

  it('has every name once in a group', () => {
    const keys = metricDefinitions.map(key);
    expect(keys.filter((one, i) => keys.indexOf(one) !== i)).toEqual([]);
  });

  it('has scopes of stores, each once', () => {
    expect(new Set(storeScopes).size).toBe(storeScopes.length);
  });
});

describe('VERSION', () => {
  it('is that of the package', () => {
    const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
    expect(VERSION).toBe((JSON.parse(text) as { version: string }).version);
  });
});
