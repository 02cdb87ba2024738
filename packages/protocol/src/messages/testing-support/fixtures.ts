import { readFileSync } from 'node:fs';
import { apis } from '../apis.ts';
import { ConsumerProtocolAssignment, ConsumerProtocolSubscription } from '../consumer-protocol.ts';
import {
  GroupMetadataKey,
  GroupMetadataValue,
  OffsetCommitKey,
  OffsetCommitValue,
} from '../group-records.ts';
import type { Schema } from '../schema.ts';
import { TransactionLogKey, TransactionLogValue } from '../transaction-records.ts';

/** A message as Kafka 4.4's own classes wrote it. */
export interface MessageFixture {
  readonly name: string;
  readonly schema: Schema<unknown>;
  readonly version: number;
  /** `default`: nothing set; `filled`: every field; `sparse`: null where allowed, no tagged fields. */
  readonly kind: string;
  readonly bytes: Buffer;
  /** What was set; null for `default`. */
  readonly value: unknown;
}

/** One JSON value a line. */
export function readFixture(
  file: string,
  reviver?: (key: string, value: unknown) => unknown,
): unknown[] {
  const text = readFileSync(new URL(`../fixtures/${file}`, import.meta.url), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line): unknown => JSON.parse(line, reviver));
}

const records = [
  ConsumerProtocolAssignment,
  ConsumerProtocolSubscription,
  GroupMetadataKey,
  GroupMetadataValue,
  OffsetCommitKey,
  OffsetCommitValue,
  TransactionLogKey,
  TransactionLogValue,
];

export const schemas: ReadonlyMap<string, Schema<unknown>> = new Map<string, Schema<unknown>>([
  ...[...apis.values()].flatMap((api) => [
    [api.request.name, api.request] as const,
    [api.response.name, api.response] as const,
  ]),
  ...records.map((schema) => [schema.name, schema] as const),
]);

type Line = [name: string, version: number, kind: string, base64: string, value: unknown];

/** Int64 values stand as `'12n'` and bytes as `'base64:...'` in the file. */
function revive(_key: string, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (/^-?\d+n$/.test(value)) return BigInt(value.slice(0, -1));
  return value.startsWith('base64:') ? Buffer.from(value.slice(7), 'base64') : value;
}

export function readMessageFixtures(): MessageFixture[] {
  const lines = readFixture('messages.jsonl', revive) as Line[];
  return lines.map(([name, version, kind, base64, value]) => {
    const schema = schemas.get(name);
    if (schema === undefined) throw new Error(`no schema of the name ${name}`);
    return {
      name,
      schema,
      // Kafka's class counts the group metadata key from 0; in the topic its version is 2.
      version: name === 'GroupMetadataKey' ? 2 : version,
      kind,
      bytes: Buffer.from(base64, 'base64'),
      value,
    };
  });
}
