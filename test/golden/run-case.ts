import { bindTopology, type KeyValueStore, type WindowStore } from '@millrace/runtime';
import { isDeepStrictEqual } from 'node:util';
import {
  expectedOf,
  type Config,
  type Expected,
  type GoldenCase,
  type Json,
  type JsonObject,
  type Step,
} from './case.ts';
import { encode, encodeHeaders, show, showHeaders, toJson } from './codec.ts';
import { timestampExtractor } from './extractors.ts';
import { Driver, type DriverRecord } from './driver.ts';
import { Interpreter } from './interpreter.ts';

const APPLICATION_ID = 'golden';

/** What one variant of a case gave. */
export interface Outcome {
  readonly describe: readonly string[] | null;
  readonly steps: readonly Step[];
  readonly stores: JsonObject;
  readonly dropped: number;
  readonly streamTime: number;
  readonly error: {
    readonly phase: string;
    readonly step?: number;
    readonly cause: unknown;
  } | null;
}

export interface RunOptions {
  readonly isAsynchronous: boolean;
}

/** Runs one variant of a case. */
export async function runCase(
  golden: GoldenCase,
  variant: number,
  options: RunOptions,
): Promise<Outcome> {
  const config: Config = { ...golden.config, ...golden.variants?.[variant] };
  let notes: [string, string][] = [];
  const interpreter = new Interpreter(config, {
    isAsynchronous: options.isAsynchronous,
    note: (id, note) => notes.push([id, note]),
  });
  const nothing = { steps: [], stores: {}, dropped: 0, streamTime: -1 };
  let describe: string[];
  let driver: Driver;
  try {
    const topology = interpreter.build(golden.topology);
    describe = topology.describe().toString().split('\n');
    driver = new Driver(bindTopology(topology, { applicationId: APPLICATION_ID }), {
      continueOnBadBytes: config['deserialization.exception.handler'] === 'continue',
      defaultExtractor: timestampExtractor(config['default.timestamp.extractor']) ?? null,
    });
  } catch (cause) {
    return { describe: null, ...nothing, error: { phase: 'build', cause } };
  }
  const steps: Step[] = [];
  let error: Outcome['error'] = null;
  for (const [index, input] of (golden.inputs ?? []).entries()) {
    notes = [];
    try {
      if (!('advanceWallClockMs' in input)) {
        const types = interpreter.inputTypes.get(input.topic);
        await driver.pipe({
          topic: input.topic,
          key: encode(input.key, types?.key ?? 'string'),
          value: encode(input.value, types?.value ?? 'string'),
          timestamp: input.timestamp ?? 0,
          headers: encodeHeaders(input.headers),
        });
      }
    } catch (cause) {
      error = { phase: 'step', step: index, cause };
    }
    const outputs = sortedByTopic(driver.takeOutputs()).map((record) => shown(record, interpreter));
    steps.push(notes.length === 0 ? { outputs } : { notes, outputs });
    if (error !== null) break;
  }
  const { dropped, streamTime } = driver;
  return { describe, steps, stores: dumpStores(driver), dropped, streamTime, error };
}

export interface CompareOptions {
  readonly stores: boolean;
}

/** Where an outcome first differs from what Kafka Streams gave; null if nowhere. */
export function firstDifference(
  golden: GoldenCase,
  variant: number,
  outcome: Outcome,
  options: CompareOptions,
): string | null {
  const expected: Expected = expectedOf(golden, variant);
  const { error } = expected;
  if (error?.phase === 'build' || error?.phase === 'start') {
    return outcome.error?.phase === 'build' ? null : 'the topology should not have been built';
  }
  if (outcome.error?.phase === 'build') return `not built: ${String(outcome.error.cause)}`;
  if (!isDeepStrictEqual(outcome.describe, expected.describe)) {
    return difference('describe', expected.describe?.join('\n'), outcome.describe?.join('\n'));
  }
  for (const [index, step] of (expected.steps ?? []).entries()) {
    if (!isDeepStrictEqual(outcome.steps[index], step)) {
      return difference(`step ${String(index)}`, step, outcome.steps[index] ?? outcome.error);
    }
  }
  if (error?.step !== outcome.error?.step) {
    return difference(
      'error',
      error,
      `${String(outcome.error?.step)}: ${String(outcome.error?.cause)}`,
    );
  }
  if (error !== undefined) return null;
  if (outcome.dropped !== expected.dropped) {
    return difference('dropped', expected.dropped, outcome.dropped);
  }
  if (outcome.streamTime !== expected.streamTime) {
    return difference('streamTime', expected.streamTime, outcome.streamTime);
  }
  if (options.stores && !isDeepStrictEqual(outcome.stores, expected.stores ?? {})) {
    return difference('stores', expected.stores, outcome.stores);
  }
  return null;
}

function difference(what: string, expected: unknown, actual: unknown): string {
  const asText = (value: unknown): string =>
    typeof value === 'string' ? value : JSON.stringify(value);
  return `${what}\nexpected: ${asText(expected)}\nactual:   ${asText(actual)}`;
}

function sortedByTopic(records: readonly DriverRecord[]): DriverRecord[] {
  return [...records].sort((a, b) => (a.topic < b.topic ? -1 : a.topic > b.topic ? 1 : 0));
}

function shown(record: DriverRecord, interpreter: Interpreter): JsonObject {
  const { topic, key, value, timestamp, headers } = record;
  const types = interpreter.outputTypes.get(topic);
  return {
    topic,
    ...show('key', key, types?.key),
    ...show('value', value, types?.value),
    timestamp,
    ...(headers === null || headers.isEmpty ? {} : { headers: showHeaders(headers) }),
  };
}

function dumpStores(driver: Driver): JsonObject {
  const dump: Record<string, Json> = {};
  for (const [name, store] of [...driver.stores].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const any = store as KeyValueStore<unknown, unknown> | WindowStore<unknown, unknown>;
    dump[name] = {
      kind: 'fetchAll' in any ? 'window' : 'keyValue',
      entries: [...any.all()].map(({ key, value, timestamp }) => ({
        key: toJson(key),
        value: toJson(value),
        timestamp,
      })),
    };
  }
  return dump;
}
