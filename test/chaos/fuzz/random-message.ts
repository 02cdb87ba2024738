import { BatchBuilder, type Codec, type Schema, ZERO_UUID } from '@millrace/protocol';
import type { SeededRandom } from '../../golden/fuzz/random.ts';

type Fields = Schema<unknown>['fields'];
type Field = Fields[string];
type FieldType = Field['type'];
type Scalar = Exclude<FieldType['kind'], 'struct' | 'array'>;

/** Names that mean something to the broker, so that requests get past its first look at them. */
export interface Names {
  readonly topics: readonly string[];
  readonly topicIds: readonly string[];
  readonly groups: readonly string[];
  readonly members: readonly string[];
  readonly transactions: readonly string[];
}

const ODD_STRINGS = [
  '',
  'a',
  '.',
  '..',
  '../../etc/passwd',
  'a b',
  '\0',
  '\u{1f600} é',
  '\ud800',
  '__consumer_offsets',
  '__transaction_state',
  '__cluster_metadata',
  'constructor',
  '__proto__',
  '1',
  '-1',
  'x'.repeat(249),
  'x'.repeat(250),
] as const;
const LONGEST_STRING = 'y'.repeat(32_767);
const SETTINGS = [
  ['cleanup.policy', 'compact'],
  ['cleanup.policy', 'compact,delete'],
  ['retention.ms', '1'],
  ['retention.ms', '-1'],
  ['segment.bytes', '1048576'],
  ['max.message.bytes', '100000'],
  ['compression.type', 'lz4'],
  ['min.insync.replicas', '2'],
  ['message.timestamp.type', 'LogAppendTime'],
  ['flush.messages', '1'],
  ['segment.ms', '1'],
] as const;
const CODECS: readonly Codec[] = ['none', 'gzip', 'snappy', 'lz4', 'zstd'];

/** The most elements of an array: usually a few. */
const LONG_ARRAY = 2_000;
/** Elements of a whole message; well below what a broker takes. */
const MOST_ELEMENTS = 50_000;

const bits = { int8: 8n, int16: 16n, int32: 32n, int64: 64n } as const;

/** Fields whose value decides how long an answer takes or how much it makes: mostly kept small. */
const smallIntegers: Readonly<Record<string, readonly number[]>> = {
  acks: [-1, -1, 1, 0, 2],
  numPartitions: [1, 2, -1, 0, 10_001],
  replicationFactor: [1, 1, -1, 0, 3],
  count: [1, 2, 3, 4, 0],
  partitionIndex: [0, 0, 1, 2, -1],
  partition: [0, 0, 1, 2, -1],
  index: [0, 0, 1, 2, -1],
  maxWaitMs: [0, 1, 20, -1],
  minBytes: [0, 1, 1_000],
  timeoutMs: [0, 1, 1_000, -1],
  sessionTimeoutMs: [6_000, 10, 1_800_000, -1],
  rebalanceTimeoutMs: [10, 50, -1, 0],
  transactionTimeoutMs: [1_000, 60_000, 0, -1],
  sessionId: [0, 0, 0, 7],
  sessionEpoch: [-1, 0, 0, 1],
  keyType: [0, 1, 2],
  resourceType: [2, 2, 4, 8, 0],
  configOperation: [0, 1, 2, 3, 9],
  isolationLevel: [0, 1],
  producerEpoch: [0, 1, -1],
  generationId: [1, -1, 0, 2],
  generationIdOrMemberEpoch: [1, -1, 0],
};

/** Makes up messages of any schema: values that fit their types, and edges of these. */
export class MessageMaker {
  readonly #random: SeededRandom;
  readonly #names: Names;
  #version = 0;
  #elementsLeft = 0;

  constructor(random: SeededRandom, names: Names) {
    this.#random = random;
    this.#names = names;
  }

  make(schema: Schema<unknown>, version: number): Record<string, unknown> {
    this.#version = version;
    this.#elementsLeft = MOST_ELEMENTS;
    return this.#struct(schema.fields);
  }

  #struct(fields: Fields): Record<string, unknown> {
    const made: Record<string, unknown> = {};
    for (const [name, field] of Object.entries(fields)) {
      if (!this.#has(field.versions)) continue;
      if (field.tag !== null && this.#random.oneIn(2)) continue;
      if (this.#has(field.nullable) && this.#random.oneIn(5)) made[name] = null;
      else made[name] = this.#value(name, field.type);
    }
    // Keys and values of configurations belong together.
    if ('name' in made && 'value' in made && this.#random.oneIn(2)) {
      [made['name'], made['value']] = this.#random.pick(SETTINGS);
    }
    return made;
  }

  #has({ min, max }: Field['versions']): boolean {
    return this.#version >= min && this.#version <= max;
  }

  #value(name: string, type: FieldType): unknown {
    if (type.kind === 'struct') return this.#struct(type.fields);
    if (type.kind !== 'array') return this.#scalar(name, type.kind);
    const { element } = type;
    const length = Math.min(this.#count(), this.#elementsLeft);
    this.#elementsLeft -= length;
    return Array.from({ length }, () => this.#value(name, element));
  }

  #count(): number {
    const kind = this.#random.weighted({ none: 2, one: 6, few: 4, some: 1 });
    if (kind === 'none') return 0;
    if (kind === 'one') return 1;
    if (kind === 'few') return 2 + this.#random.int(3);
    return this.#random.oneIn(40) ? LONG_ARRAY : 5 + this.#random.int(40);
  }

  #scalar(name: string, kind: Scalar): unknown {
    switch (kind) {
      case 'int8':
      case 'int16':
      case 'int32': {
        const usual = smallIntegers[name];
        if (usual !== undefined && !this.#random.oneIn(12)) return this.#random.pick(usual);
        return Number(this.#integer(bits[kind]));
      }
      case 'int64':
        return this.#integer(bits.int64);
      case 'bool':
        return this.#random.oneIn(2);
      case 'string':
        return this.#string(name);
      case 'uuid':
        return this.#random.oneIn(4) ? ZERO_UUID : this.#random.pick(this.#names.topicIds);
      case 'bytes':
        return this.bytes(this.#random.oneIn(20) ? 20_000 : 60);
      case 'records':
        return this.records();
    }
  }

  #integer(width: bigint): bigint {
    const half = 1n << (width - 1n);
    switch (this.#random.weighted({ small: 8, edge: 2, any: 1 })) {
      case 'small':
        return BigInt(this.#random.int(5)) - 1n;
      case 'edge':
        return this.#random.pick([-half, half - 1n, -2n, -3n, -4n, -5n, -6n, 100n]);
      case 'any':
        return BigInt.asIntN(
          Number(width),
          (BigInt(this.#random.int(2 ** 32)) << 32n) | BigInt(this.#random.int(2 ** 32)),
        );
    }
  }

  #string(name: string): string {
    if (this.#random.oneIn(6)) {
      return this.#random.oneIn(30) ? LONGEST_STRING : this.#random.pick(ODD_STRINGS);
    }
    const { topics, groups, members, transactions } = this.#names;
    if (/group/i.test(name) && !/instance/i.test(name)) return this.#random.pick(groups);
    if (/member|instance|leader/i.test(name)) return this.#random.pick(members);
    if (/transactional/i.test(name)) return this.#random.pick(transactions);
    if (/protocol/i.test(name)) return this.#random.pick(['consumer', 'range', 'connect']);
    if (/key/i.test(name)) return this.#random.pick([...groups, ...transactions]);
    return this.#random.pick(topics);
  }

  bytes(most: number): Buffer {
    const bytes = Buffer.alloc(this.#random.int(most + 1));
    for (let at = 0; at < bytes.length; at++) bytes[at] = this.#random.int(256);
    return bytes;
  }

  /** A batch, sometimes a damaged one or none at all. */
  records(): Buffer {
    const kind = this.#random.weighted({ good: 8, damaged: 3, two: 1, noise: 1 });
    if (kind === 'noise') return this.bytes(200);
    const batch = this.#batch();
    if (kind === 'two') return Buffer.concat([batch, this.#batch()]);
    if (kind === 'damaged') {
      const at = this.#random.int(batch.length);
      batch[at] = this.#random.int(256);
    }
    return batch;
  }

  #batch(): Buffer {
    const builder = new BatchBuilder({ codec: this.#random.pick(CODECS), maxBytes: 1 << 20 });
    for (let left = 1 + this.#random.int(5); left > 0; left--) {
      builder.appendBytes(
        this.#random.oneIn(10) ? this.#random.int(2 ** 40) : Date.now(),
        this.#random.oneIn(3) ? null : this.bytes(10),
        this.#random.oneIn(8) ? null : this.bytes(100),
        null,
      );
    }
    const isIdempotent = this.#random.oneIn(2);
    return Buffer.from(
      builder.build(
        isIdempotent
          ? {
              producerId: BigInt(this.#random.int(20)),
              producerEpoch: this.#random.int(2),
              baseSequence: this.#random.int(4),
              isTransactional: this.#random.oneIn(4),
            }
          : {},
      ),
    );
  }
}
