import { describe, expect, it } from 'vitest';
import { logConfigDefinitions, LONG_MAX } from './config-definitions.ts';
import { checkSetting, longestSegmentMs, parseLogConfig, resolveSetting } from './config.ts';
import { ConfigError } from './errors.ts';

const parse = (topic: Record<string, string>, broker: Record<string, string> = {}) =>
  parseLogConfig(new Map(Object.entries(topic)), new Map(Object.entries(broker)));

describe('topic settings', () => {
  it('default to Kafka 4.4', () => {
    const config = parse({});
    expect(config).toMatchObject({
      cleanupPolicy: { compact: false, delete: true },
      compressionType: 'producer',
      maxMessageBytes: 1_048_588,
      messageTimestampAfterMaxMs: 3_600_000,
      messageTimestampBeforeMaxMs: LONG_MAX,
      retentionMs: 604_800_000,
      retentionBytes: -1,
      segmentBytes: 1_073_741_824,
      segmentIndexBytes: 10_485_760,
      flushMessages: LONG_MAX,
      minCleanableDirtyRatio: 0.5,
    });
  });

  it('have defaults that pass their own checks', () => {
    for (const one of logConfigDefinitions) {
      if (!one.isInternal) expect(checkSetting(one, one.default), one.name).toBeNull();
    }
  });

  it('come from the topic, else the first broker name that is set, in its unit', () => {
    expect(parse({ 'retention.ms': '5' }, { 'log.retention.ms': '7' }).retentionMs).toBe(5);
    expect(parse({}, { 'log.retention.hours': '2' }).retentionMs).toBe(7_200_000);
    expect(
      parse({}, { 'log.retention.hours': '2', 'log.retention.minutes': '3' }).retentionMs,
    ).toBe(180_000);
    expect(parse({}, { 'log.retention.hours': '-1' }).retentionMs).toBe(-1);
    expect(
      parse({}, { 'log.cleaner.min.compaction.lag.messages': '9' }).minCompactionLagMessages,
    ).toBe(9);
    const definition = logConfigDefinitions.find((one) => one.name === 'segment.ms');
    if (!definition) throw new Error('missing');
    expect(resolveSetting(definition, new Map(), new Map([['log.roll.hours', '1']]))).toMatchObject(
      {
        value: '3600000',
        source: 'broker',
        synonym: 'log.roll.hours',
      },
    );
  });

  it('name every mistake in one error', () => {
    let error: unknown;
    try {
      parse({
        'segment.bytes': '12',
        'retention.ms': 'week',
        'cleanup.policy': 'compact,shrink',
        'compression.type': 'none',
        'no.such': '1',
        preallocate: 'yes',
        'min.cleanable.dirty.ratio': '1.5',
        'flush.ms': '1.5',
        'max.compaction.lag.ms': '0',
      });
    } catch (caught) {
      error = caught;
    }
    expect(error).toBeInstanceOf(ConfigError);
    expect((error as ConfigError).problems).toHaveLength(9);
    for (const name of ['no.such', 'segment.bytes=12', 'retention.ms=week', 'cleanup.policy']) {
      expect((error as Error).message).toContain(name);
    }
  });

  it('take int64 maximum, an empty policy, and both policies', () => {
    expect(parse({ 'flush.ms': '9223372036854775807' }).flushMs).toBe(LONG_MAX);
    expect(() => parse({ 'flush.ms': '99999999999999999999' })).toThrow(ConfigError);
    expect(parse({ 'cleanup.policy': '' }).cleanupPolicy).toEqual({
      compact: false,
      delete: false,
    });
    expect(parse({ 'cleanup.policy': 'delete, compact' }).cleanupPolicy).toEqual({
      compact: true,
      delete: true,
    });
    expect(parse({ 'compression.type': 'uncompressed' }).compressionType).toBe('none');
  });

  it('bound the age of a segment by max lag on compacted topics', () => {
    const lag = { 'max.compaction.lag.ms': '1000' };
    expect(longestSegmentMs(parse({ ...lag, 'cleanup.policy': 'compact' }))).toBe(1000);
    expect(longestSegmentMs(parse(lag))).toBe(604_800_000);
  });
});
