import { serdes } from '@millrace/runtime';
import {
  TopologyTestDriver,
  type TestInputTopic,
  type TestOutputTopic,
  type TestRecord,
} from '@millrace/runtime/testing';
import type { Config, GoldenCase, Input, JsonObject, Step } from './case.ts';
import { encode, encodeHeaders, show, showHeaders } from './codec.ts';
import { Interpreter } from './interpreter.ts';
import { APPLICATION_ID, settingsOf } from './settings.ts';
import { dumpStores } from './store-dump.ts';

/** What one variant of a case gave. */
export interface Outcome {
  readonly describe: readonly string[] | null;
  readonly branches: JsonObject;
  readonly steps: readonly Step[];
  /** Of these three nothing is known after an error. */
  readonly stores: JsonObject;
  readonly dropped: number;
  readonly streamTime: number;
  readonly error: {
    readonly phase: 'build' | 'start' | 'step' | 'close';
    readonly step?: number;
    readonly cause: unknown;
  } | null;
}

export interface RunOptions {
  readonly isAsynchronous: boolean;
}

type Reader = TestOutputTopic<Uint8Array, Uint8Array>;
const bytes = { key: serdes.bytes(), value: serdes.bytes() };

/** Runs one variant of a case through the public DSL and the public test driver. */
export async function runCase(
  golden: GoldenCase,
  variant: number,
  options: RunOptions,
): Promise<Outcome> {
  const config: Config = { ...golden.config, ...golden.variants?.[variant] };
  return new CaseRun(golden, config, options).run();
}

class CaseRun {
  readonly #golden: GoldenCase;
  readonly #config: Config;
  readonly #interpreter: Interpreter;
  readonly #inputs = new Map<string, TestInputTopic<Uint8Array, Uint8Array>>();
  readonly #readers = new Map<string, Reader>();
  readonly #steps: Step[] = [];
  #notes: [string, string][] = [];
  #describe: string[] | null = null;

  constructor(golden: GoldenCase, config: Config, options: RunOptions) {
    this.#golden = golden;
    this.#config = config;
    this.#interpreter = new Interpreter(config, {
      isAsynchronous: options.isAsynchronous,
      note: (id, note) => this.#notes.push([id, note]),
    });
  }

  async run(): Promise<Outcome> {
    let driver: TopologyTestDriver;
    let phase: 'build' | 'start' = 'build';
    try {
      const topology = this.#interpreter.build(this.#golden.topology);
      this.#describe = topology.describe().toString().split('\n');
      phase = 'start';
      const startTime = this.#golden.startWallClockMs ?? 0;
      driver = new TopologyTestDriver(topology, settingsOf(this.#config), { startTime });
    } catch (cause) {
      return this.#ended({ phase, cause });
    }
    const outcome = await this.#drive(driver);
    try {
      await driver.close();
    } catch (cause) {
      return { ...outcome, error: outcome.error ?? { phase: 'close', cause } };
    }
    return outcome;
  }

  async #drive(driver: TopologyTestDriver): Promise<Outcome> {
    // All before the first record: sources by pattern read those that are there.
    for (const input of this.#golden.inputs ?? []) {
      if ('advanceWallClockMs' in input || this.#inputs.has(input.topic)) continue;
      this.#inputs.set(input.topic, driver.createInputTopic(input.topic, bytes));
    }
    for (const [step, input] of (this.#golden.inputs ?? []).entries()) {
      this.#notes = [];
      let failure: Outcome['error'] = null;
      try {
        await this.#feed(driver, input);
      } catch (cause) {
        failure = { phase: 'step', step, cause };
      }
      const outputs = this.#outputs(driver);
      this.#steps.push(this.#notes.length === 0 ? { outputs } : { notes: this.#notes, outputs });
      if (failure !== null) return this.#ended(failure);
    }
    return {
      ...this.#ended(null),
      stores: dumpStores(driver, this.#golden),
      dropped: driver.droppedRecordCount,
      streamTime: driver.streamTimeMs,
    };
  }

  async #feed(driver: TopologyTestDriver, input: Input): Promise<void> {
    if ('advanceWallClockMs' in input) {
      await driver.advanceWallClockTime(input.advanceWallClockMs);
      return;
    }
    const types = this.#interpreter.inputTypes.get(input.topic);
    await this.#inputs
      .get(input.topic)
      ?.pipe(
        encode(input.key, types?.key ?? 'string'),
        encode(input.value, types?.value ?? 'string'),
        { timestamp: input.timestamp ?? 0, headers: encodeHeaders(input.headers) ?? undefined },
      );
  }

  #outputs(driver: TopologyTestDriver): JsonObject[] {
    return driver.producedTopicNames().flatMap((topic) =>
      this.#reader(driver, topic)
        .readRecords()
        .map((record) => this.#shown(topic, record)),
    );
  }

  #reader(driver: TopologyTestDriver, topic: string): Reader {
    let reader = this.#readers.get(topic);
    if (reader === undefined) {
      reader = driver.createOutputTopic(topic, bytes);
      this.#readers.set(topic, reader);
    }
    return reader;
  }

  #shown(topic: string, record: TestRecord<Uint8Array, Uint8Array>): JsonObject {
    const { key, value, timestamp, headers } = record;
    const types = this.#typesOf(topic);
    return {
      topic,
      ...show('key', key, types?.key),
      ...show('value', value, types?.value),
      timestamp: timestamp < 0 ? null : timestamp,
      ...(headers.isEmpty ? {} : { headers: showHeaders(headers) }),
    };
  }

  #typesOf(topic: string): { readonly key: string; readonly value: string } | null {
    const { outputTypes, dynamicTypes } = this.#interpreter;
    const known = outputTypes.get(topic);
    if (known !== undefined) return known;
    return topic.startsWith(`${APPLICATION_ID}-`) ? null : dynamicTypes;
  }

  #ended(error: Outcome['error']): Outcome {
    const branches = Object.fromEntries(this.#interpreter.branches);
    const nothing = { stores: {}, dropped: 0, streamTime: -1 };
    return { describe: this.#describe, branches, steps: this.#steps, ...nothing, error };
  }
}
