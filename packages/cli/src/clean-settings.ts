import {
  ConfigError,
  logConfigDefinitions,
  nodeDisk,
  parseLogConfig,
  type LogConfig,
} from '@millrace/compaction';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CommandError } from './errors.ts';
import { didYouMean } from './nearest.ts';

export interface CleanSettings {
  readonly configOf: (topic: string) => LogConfig;
  /** Whether topics.json says what topics are configured to. */
  readonly hasTopicsFile: boolean;
  readonly mapBytes: number;
  readonly mapLoadFactor: number;
  /** Of each of the two buffers. */
  readonly ioBufferBytes: number;
}

interface CleanerSetting {
  readonly default: number;
  readonly min: number;
  readonly max: number;
}

/** Of a broker's cleaner those keys that mean something to one pass in one thread. */
const cleanerSettings = {
  'log.cleaner.dedupe.buffer.size': { default: 134_217_728, min: 1, max: Infinity },
  'log.cleaner.io.buffer.load.factor': { default: 0.9, min: 0, max: 1 },
  'log.cleaner.io.buffer.size': { default: 524_288, min: 1, max: 2_147_483_647 },
} as const satisfies Readonly<Record<string, CleanerSetting>>;

type CleanerKey = keyof typeof cleanerSettings;

/** What Kafka gives its internal topics when it makes them. */
const internalTopics: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  __consumer_offsets: { 'cleanup.policy': 'compact', 'segment.bytes': '104857600' },
  __transaction_state: { 'cleanup.policy': 'compact', 'segment.bytes': '104857600' },
};

const topicKeys = new Set(logConfigDefinitions.map(({ name }) => name));
const brokerKeys = new Set(
  logConfigDefinitions.flatMap(({ synonyms }) => synonyms.map(({ name }) => name)),
);

/**
 * What is given goes before topics.json, that before what Kafka does with internal topics, and a
 * broker's keys come last.
 *
 * @throws CommandError `CONFIG_INVALID`; BrokerStartError when topics.json cannot be read.
 */
export async function cleanSettingsOf(
  dataDir: string,
  given: Readonly<Record<string, string>>,
): Promise<CleanSettings> {
  const own = new Map<string, string>();
  const ofBroker = new Map<string, string>();
  const cleaner: Record<CleanerKey, number> = {
    'log.cleaner.dedupe.buffer.size': cleanerSettings['log.cleaner.dedupe.buffer.size'].default,
    'log.cleaner.io.buffer.load.factor':
      cleanerSettings['log.cleaner.io.buffer.load.factor'].default,
    'log.cleaner.io.buffer.size': cleanerSettings['log.cleaner.io.buffer.size'].default,
  };
  const problems: string[] = [];
  for (const [name, text] of Object.entries(given)) {
    if (topicKeys.has(name)) own.set(name, text);
    else if (brokerKeys.has(name)) ofBroker.set(name, text);
    else if (isCleanerKey(name)) {
      const { min, max } = cleanerSettings[name];
      const value = text.trim() === '' ? NaN : Number(text);
      if (value >= min && value <= max) cleaner[name] = value;
      else problems.push(`${name}=${text}: expected a number from ${min} to ${max}`);
    } else {
      const known = [...topicKeys, ...brokerKeys, ...Object.keys(cleanerSettings)];
      problems.push(`${name} is not known.${didYouMean(name, known)}`);
    }
  }
  problems.push(...problemsOf(own, ofBroker));
  if (problems.length > 0) {
    throw new CommandError(
      'CONFIG_INVALID',
      `Wrong configuration:\n${problems.map((problem) => `- ${problem}`).join('\n')}`,
    );
  }
  const stored = await storedConfigs(dataDir);
  return {
    hasTopicsFile: stored !== null,
    configOf: (topic) => {
      const found = stored?.get(topic) ?? internalTopics[topic] ?? {};
      const entries = new Map([...Object.entries(found), ...own]);
      // Nobody reads what was replaced: it may go at once.
      return { ...parseLogConfig(entries, ofBroker), fileDeleteDelayMs: 0 };
    },
    mapBytes: cleaner['log.cleaner.dedupe.buffer.size'],
    mapLoadFactor: cleaner['log.cleaner.io.buffer.load.factor'],
    ioBufferBytes: Math.max(1, Math.floor(cleaner['log.cleaner.io.buffer.size'] / 2)),
  };
}

function isCleanerKey(name: string): name is CleanerKey {
  return name in cleanerSettings;
}

function problemsOf(
  own: ReadonlyMap<string, string>,
  ofBroker: ReadonlyMap<string, string>,
): readonly string[] {
  try {
    parseLogConfig(own, ofBroker);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

/** null: there is no such file. */
async function storedConfigs(
  dataDir: string,
): Promise<ReadonlyMap<string, Readonly<Record<string, string>>> | null> {
  if (!existsSync(join(dataDir, 'topics.json'))) return null;
  // Loaded when it is needed: a broker takes longer to load than this command to run.
  const { TopicsFile } = await import('@millrace/broker');
  const { topics } = TopicsFile.load(nodeDisk, dataDir);
  return new Map([...topics].map(([name, { configs }]) => [name, configs]));
}
