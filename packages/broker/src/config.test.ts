import { describe, expect, it } from 'vitest';
import { cleanerSettingsOf, parseBrokerConfig } from './config.ts';
import { ConfigError } from './errors.ts';

function problemsOf(input: Record<string, string | number | boolean>): readonly string[] {
  try {
    parseBrokerConfig(input);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as ConfigError).problems;
  }
  return [];
}

describe('parseBrokerConfig', () => {
  it("has Kafka's defaults", () => {
    const { config, given } = parseBrokerConfig({});
    expect(config).toMatchObject({
      'num.partitions': 1,
      'auto.create.topics.enable': true,
      'offsets.topic.num.partitions': 50,
      'socket.request.max.bytes': 104_857_600,
      'log.retention.check.interval.ms': 300_000,
    });
    expect(given.size).toBe(0);
  });

  it("has Kafka's defaults of the log cleaner", () => {
    const { config } = parseBrokerConfig({});
    expect(cleanerSettingsOf(config)).toEqual({
      threads: 1,
      dedupeBufferBytes: 134_217_728,
      ioBufferBytes: 524_288,
      loadFactor: 0.9,
      maxIoBytesPerSecond: Number.MAX_VALUE,
      backoffMs: 15_000,
    });
    expect(config['log.cleaner.enable']).toBe(true);
  });

  it.each([
    [
      { 'log.cleaner.threads': 200 },
      /^log\.cleaner\.dedupe\.buffer\.size: '134217728' is not allowed, it takes more than 1048576 for each/,
    ],
    [{ 'log.cleaner.threads': 0 }, /^log\.cleaner\.threads: '0' is not allowed/],
    [{ 'log.cleaner.io.buffer.load.factor': 0 }, /load\.factor: '0' .* 0\.01 to 1$/],
    [{ 'log.cleaner.io.max.bytes.per.second': 0 }, /second: '0' .* at least 1$/],
    [{ 'log.cleaner.backoff.ms': -1 }, /backoff\.ms: '-1' is not allowed/],
    [{ 'log.cleaner.enable': 'no' }, /enable: 'no' is neither true nor false/],
    [
      { 'log.cleaner.min.compaction.lag.bytes': -1 },
      /^log\.cleaner\.min\.compaction\.lag\.bytes: /,
    ],
    [{ 'log.cleaner.max.compaction.lag.ms': 0 }, /^log\.cleaner\.max\.compaction\.lag\.ms: /],
    [{ 'log.cleaner.min.cleanable.ratio': 1.1 }, /^log\.cleaner\.min\.cleanable\.ratio: /],
    [{ 'log.cleaner.delete.retention.ms': -1 }, /^log\.cleaner\.delete\.retention\.ms: /],
    [
      { 'log.cleaner.min.compaction.lag.ms': 10, 'log.cleaner.max.compaction.lag.ms': 5 },
      /min\.compaction\.lag\.ms must not be above max\.compaction\.lag\.ms/,
    ],
    [{ 'log.cleaner.thread': 2 }, /did you mean log\.cleaner\.threads\?/],
  ])('refuses %j', (input, problem) => {
    const problems = problemsOf(input);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(problem);
  });

  it('takes values as text, numbers and booleans, and defaults of topics', () => {
    const { config, given } = parseBrokerConfig({
      'num.partitions': '3',
      'auto.create.topics.enable': false,
      'log.retention.hours': 2,
      'message.max.bytes': 2_000_000,
      'log.segment.bytes': '1048576',
    });
    expect(config['num.partitions']).toBe(3);
    expect(config['auto.create.topics.enable']).toBe(false);
    expect(given.get('log.retention.hours')).toBe('2');
    expect(given.get('message.max.bytes')).toBe('2000000');
  });

  it('lists everything that is wrong, with the range or the nearest name', () => {
    const problems = problemsOf({
      'num.partition': 3,
      'node.id': -1,
      'auto.create.topics.enable': 'yes',
      'log.retention.minutes': 'soon',
      'log.segment.bytes': 10,
      'something.else.entirely': 1,
      'group.max.size': 1.5,
      'fetch.max.bytes': '',
    });
    expect(problems).toEqual([
      'num.partition: unknown key, did you mean num.partitions?',
      "node.id: '-1' is not allowed, it takes 0 to 2147483647",
      "auto.create.topics.enable: 'yes' is neither true nor false",
      expect.stringContaining('log.retention.minutes: '),
      expect.stringContaining('log.segment.bytes: as the topic setting segment.bytes=10'),
      'something.else.entirely: unknown key',
      "group.max.size: '1.5' is not allowed, it takes 1 to 2147483647",
      "fetch.max.bytes: '' is not allowed, it takes 1024 to 2147483647",
    ]);
  });
});
