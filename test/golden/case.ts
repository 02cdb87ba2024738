/** A golden case: a topology, a config and an input script, with what Kafka Streams made of them. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json | undefined;
}

/** One DSL call. */
export interface Operation extends JsonObject {
  readonly op: string;
  readonly id?: string;
  readonly of?: string;
  readonly name?: string;
  readonly keySerde?: string;
  readonly valueSerde?: string;
}

interface RecordInput {
  readonly topic: string;
  readonly key: Json;
  readonly value: Json;
  readonly timestamp?: number;
  readonly headers?: readonly (readonly [string, Json])[];
}

export type Input = RecordInput | { readonly advanceWallClockMs: number };

export interface Step {
  readonly notes?: readonly (readonly [string, string])[];
  readonly outputs: readonly JsonObject[];
}

interface CaseError {
  readonly phase: 'build' | 'start' | 'step' | 'close';
  readonly step?: number;
  readonly chain: readonly (readonly [string, string | null])[];
}

export interface Expected {
  readonly describe?: readonly string[];
  readonly branches?: JsonObject;
  readonly steps?: readonly Step[];
  readonly stores?: JsonObject;
  readonly dropped?: number;
  readonly streamTime?: number;
  readonly error?: CaseError;
}

export type Config = Readonly<Record<string, string | number | boolean | null>>;

export interface GoldenCase {
  readonly name: string;
  readonly config?: Config;
  readonly variants?: readonly Config[];
  readonly startWallClockMs?: number;
  readonly topology: readonly Operation[];
  readonly inputs?: readonly Input[];
  readonly expected: readonly (Expected | { readonly sameAs: number })[];
}

/** What a variant is to give; a variant that equals an earlier one only names it. */
export function expectedOf(golden: GoldenCase, variant: number): Expected {
  const expected = golden.expected[variant];
  if (expected === undefined) throw new Error(`${golden.name} has no variant ${String(variant)}`);
  return 'sameAs' in expected ? expectedOf(golden, expected.sameAs) : expected;
}
