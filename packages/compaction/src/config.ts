import { logConfigDefinitions, LONG_MAX, LONG_MAX_TEXT } from './config-definitions.ts';
import type { LogConfigDefinition } from './config-definitions.ts';
import { ConfigError } from './errors.ts';
import type { Codec } from '@millrace/protocol';

/**
 * One log's settings. Sizes in bytes, durations in ms; `LONG_MAX` stands for Kafka's int64 maximum
 * ("never", "no bound"), -1 in retention for "no bound".
 */
export interface LogConfig {
  readonly cleanupPolicy: { readonly compact: boolean; readonly delete: boolean };
  /** `producer`: as the batch came. */
  readonly compressionType: Codec | 'producer';
  readonly deleteRetentionMs: number;
  readonly fileDeleteDelayMs: number;
  readonly flushMessages: number;
  readonly flushMs: number;
  readonly indexIntervalBytes: number;
  readonly maxCompactionLagMs: number;
  readonly maxDecompressedMessageBytes: number;
  readonly maxMessageBytes: number;
  readonly messageTimestampAfterMaxMs: number;
  readonly messageTimestampBeforeMaxMs: number;
  readonly messageTimestampType: 'CreateTime' | 'LogAppendTime';
  readonly minCleanableDirtyRatio: number;
  readonly minCompactionLagBytes: number;
  readonly minCompactionLagMessages: number;
  readonly minCompactionLagMs: number;
  readonly minInsyncReplicas: number;
  readonly retentionBytes: number;
  readonly retentionMs: number;
  readonly segmentBytes: number;
  readonly segmentIndexBytes: number;
  readonly segmentJitterMs: number;
  readonly segmentMs: number;
}

type Entries = ReadonlyMap<string, string>;

const byName = new Map(logConfigDefinitions.map((one) => [one.name, one]));

/** Where a setting's value comes from, as DescribeConfigs tells it. */
export interface ResolvedSetting {
  readonly definition: LogConfigDefinition;
  readonly value: string;
  readonly source: 'topic' | 'broker' | 'default';
  /** The broker-level name that set it, if one did. */
  readonly synonym: string | null;
}

/**
 * The value of one setting: the topic's own, else the first broker-level synonym that is set (scaled
 * to the topic's unit), else Kafka's default.
 */
export function resolveSetting(
  definition: LogConfigDefinition,
  entries: Entries,
  brokerDefaults: Entries,
): ResolvedSetting {
  const own = entries.get(definition.name);
  if (own !== undefined) return { definition, value: own, source: 'topic', synonym: null };
  for (const synonym of definition.synonyms) {
    const text = brokerDefaults.get(synonym.name);
    if (text === undefined) continue;
    const value = synonym.factor === 1 ? text : scale(text, synonym.factor);
    return { definition, value, source: 'broker', synonym: synonym.name };
  }
  return { definition, value: definition.default, source: 'default', synonym: null };
}

/** -1 (no bound) stays -1, as in log.retention.hours=-1. */
function scale(text: string, factor: number): string {
  const value = Number(text);
  return Number.isFinite(value) && value > 0 ? String(value * factor) : text;
}

/** What is wrong with a value, or null. */
export function checkSetting(definition: LogConfigDefinition, text: string): string | null {
  const { name, kind, min, max, oneOf } = definition;
  const wrong = (expected: string): string => `${name}=${text}: expected ${expected}`;
  if (kind === 'boolean') return /^(true|false)$/.test(text) ? null : wrong('true or false');
  if (kind === 'string') {
    return !oneOf || oneOf.includes(text) ? null : wrong(`one of ${oneOf.join(', ')}`);
  }
  if (kind === 'list') {
    const items = splitList(text);
    if (new Set(items).size !== items.length) return wrong('no item twice');
    return !oneOf || items.every((item) => oneOf.includes(item))
      ? null
      : wrong(`a list of ${oneOf.join(', ')}`);
  }
  const value = parseNumber(text);
  const isWhole = kind === 'double' || Number.isSafeInteger(value);
  const isInRange = (min === undefined || value >= min) && (max === undefined || value <= max);
  if (!Number.isNaN(value) && isWhole && isInRange) return null;
  const range = `from ${String(min ?? 'any')} to ${max === undefined ? LONG_MAX_TEXT : String(max)}`;
  return wrong(`${kind === 'double' ? 'a number' : 'a whole number'} ${range}`);
}

function splitList(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

function parseNumber(text: string): number {
  const trimmed = text.trim();
  if (!/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(trimmed)) return NaN;
  const value = Number(trimmed);
  return value > LONG_MAX ? (trimmed.length <= LONG_MAX_TEXT.length ? LONG_MAX : NaN) : value;
}

/**
 * A log's settings from a topic's entries and the broker's (both by Kafka's names).
 *
 * @throws ConfigError naming every unknown key and every value outside its range.
 */
export function parseLogConfig(entries: Entries, brokerDefaults: Entries = new Map()): LogConfig {
  const problems: string[] = [];
  for (const name of entries.keys()) {
    if (!byName.has(name)) problems.push(`${name}: unknown topic setting`);
  }
  const values = new Map<string, string>();
  for (const definition of logConfigDefinitions) {
    const { value } = resolveSetting(definition, entries, brokerDefaults);
    if (definition.isInternal && value === '') continue;
    const problem = checkSetting(definition, value);
    if (problem !== null) problems.push(problem);
    values.set(definition.name, value);
  }
  const number = (name: string): number => parseNumber(values.get(name) ?? '');
  const minLagMs = number('min.compaction.lag.ms');
  if (minLagMs > number('max.compaction.lag.ms')) {
    problems.push('min.compaction.lag.ms must not be above max.compaction.lag.ms');
  }
  if (problems.length > 0) throw new ConfigError(problems);

  const policies = splitList(values.get('cleanup.policy') ?? '');
  const compression = values.get('compression.type') ?? 'producer';
  const internalSegmentBytes = values.get('internal.segment.bytes');
  return {
    cleanupPolicy: { compact: policies.includes('compact'), delete: policies.includes('delete') },
    compressionType: (compression === 'uncompressed' ? 'none' : compression) as Codec | 'producer',
    deleteRetentionMs: number('delete.retention.ms'),
    fileDeleteDelayMs: number('file.delete.delay.ms'),
    flushMessages: number('flush.messages'),
    flushMs: number('flush.ms'),
    indexIntervalBytes: number('index.interval.bytes'),
    maxCompactionLagMs: number('max.compaction.lag.ms'),
    maxDecompressedMessageBytes: number('max.decompressed.message.bytes'),
    maxMessageBytes: number('max.message.bytes'),
    messageTimestampAfterMaxMs: number('message.timestamp.after.max.ms'),
    messageTimestampBeforeMaxMs: number('message.timestamp.before.max.ms'),
    messageTimestampType: values.get('message.timestamp.type') as LogConfig['messageTimestampType'],
    minCleanableDirtyRatio: number('min.cleanable.dirty.ratio'),
    minCompactionLagBytes: number('min.compaction.lag.bytes'),
    minCompactionLagMessages: number('min.compaction.lag.messages'),
    minCompactionLagMs: minLagMs,
    minInsyncReplicas: number('min.insync.replicas'),
    retentionBytes: number('retention.bytes'),
    retentionMs: number('retention.ms'),
    segmentBytes:
      internalSegmentBytes === undefined
        ? number('segment.bytes')
        : parseNumber(internalSegmentBytes),
    segmentIndexBytes: number('segment.index.bytes'),
    segmentJitterMs: number('segment.jitter.ms'),
    segmentMs: number('segment.ms'),
  };
}

/** Settings without any entries: Kafka's defaults. */
export const defaultLogConfig: LogConfig = parseLogConfig(new Map());

/** How long a segment may be appended to: a compacted topic's max lag counts too (KIP-354). */
export function longestSegmentMs(config: LogConfig): number {
  return config.cleanupPolicy.compact
    ? Math.min(config.segmentMs, config.maxCompactionLagMs)
    : config.segmentMs;
}
