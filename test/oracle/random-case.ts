import type { CleaningRequest } from './requests.ts';

const T0 = 1_700_000_000_000;
const DAY_MS = 86_400_000;
const SLOT_BYTES = 24;
const CODECS = ['none', 'none', 'gzip', 'snappy', 'lz4', 'zstd'];
/** Further than 32 bits reach. */
const HUGE_HOLE = 3_000_000_000;

/** One line of the oracle's `write` request. */
export type WriteStep = Readonly<Record<string, unknown>>;

/** Some appends, and then a pass. What a pass begins at is known only when the case runs. */
export interface Round {
  readonly nowMs: number;
  readonly config: Readonly<Record<string, string>>;
  readonly batches: readonly WriteStep[];
  readonly pass: Omit<CleaningRequest, 'cmd' | 'nowMs' | 'config'> & {
    readonly nowMs: number;
    readonly config: Readonly<Record<string, string>>;
  };
  /** Whether the next round goes on with what we have left, instead of what Kafka has. */
  readonly goesOnWithOurs: boolean;
}

/** mulberry32: a seed's case is always the same. */
function randomOf(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 4_294_967_296) * below);
  };
}

interface Producer {
  readonly id: number;
  readonly isTransactional: boolean;
  epoch: number;
  sequence: number;
  isInTransaction: boolean;
}

const hex = (text: string): string => Buffer.from(text).toString('hex');

/**
 * A random history in several rounds: few keys, so that nearly all is superseded; tombstones, null keys, headers,
 * all codecs, idempotent and transactional producers, epochs, holes, both timestamp types; small segments,
 * indexes and maps of a few entries, clocks that pass horizons or stand before them.
 */
export class RandomCase {
  readonly rounds: readonly Round[];
  readonly #random: (below: number) => number;
  readonly #producers: Producer[];
  readonly #keyCount: number;
  /** Of all batches, if they have one codec. */
  readonly #onlyCodec: string | undefined;
  #nowMs = T0;
  #logEndOffset = 0;

  constructor(seed: number) {
    const random = randomOf(seed * 7919 + 13);
    this.#random = random;
    this.#keyCount = 1 + random(12);
    this.#producers = [10, 11, 20, 21].map((id) => ({
      id,
      isTransactional: id >= 20,
      epoch: random(3),
      sequence: 0,
      isInTransaction: false,
    }));
    // Drawn apart, so that what a seed stands for otherwise does not hang on them.
    const narrow = randomOf(seed * 104_729 + 7);
    const usualSegmentBytes = 2_000 + random(6_000);
    const settings = {
      'segment.bytes': String(narrow(4) === 0 ? 1_500 + narrow(500) : usualSegmentBytes),
      'index.interval.bytes': String(random(3) === 0 ? 0 : random(1_000)),
      'delete.retention.ms': String([0, 1_000, 60_000][random(3)]),
      ...(narrow(4) === 0 ? { 'segment.index.bytes': String(36 + narrow(60)) } : {}),
    };
    if (narrow(4) === 0) this.#onlyCodec = CODECS[narrow(CODECS.length)];
    const isHoley = random(8) === 0;
    this.rounds = Array.from({ length: 2 + random(4) }, () => this.#round(settings, isHoley));
  }

  #round(settings: Readonly<Record<string, string>>, isHoley: boolean): Round {
    const random = this.#random;
    const nowMs = this.#nowMs;
    const count = 3 + random(25);
    const batches = Array.from({ length: count }, () => this.#step(isHoley));
    if (random(4) > 0) {
      batches.push({ roll: true });
      if (random(3) > 0) batches.push(this.#step(false));
    }
    const pauseMs = [0, 500, 2_000, 100_000, 2 * DAY_MS][random(5)] as number;
    this.#nowMs += pauseMs;
    if (pauseMs > DAY_MS) this.#forgetProducers();
    const slots = random(3) === 0 ? 10_000 : 3 + random(20);
    const lag = random(4) === 0 ? { 'min.compaction.lag.ms': String(random(3_000)) } : {};
    const maxLag =
      random(4) === 0 ? { 'max.compaction.lag.ms': String(3_000 + random(9_000)) } : {};
    // An open transaction from before the log start: Kafka has its stable offset now here, now there.
    const isTrimmed = random(6) === 0 && !this.#producers.some((one) => one.isInTransaction);
    const isBehind = random(6) === 0;
    const logStartOffset = isTrimmed ? random(this.#logEndOffset) : 0;
    return {
      nowMs,
      config: { 'cleanup.policy': 'delete', 'retention.ms': '-1', ...settings },
      batches,
      pass: {
        nowMs: this.#nowMs,
        config: { 'cleanup.policy': 'compact', ...settings, ...lag, ...maxLag },
        dedupeBufferBytes: slots * SLOT_BYTES,
        loadFactor: 0.5 + random(6) / 10,
        ioBufferBytes: [200, 1_000, 262_144][random(3)] as number,
        ...(isTrimmed ? { logStartOffset } : {}),
        ...(isBehind
          ? { highWatermark: logStartOffset + random(this.#logEndOffset - logStartOffset + 1) }
          : {}),
      },
      goesOnWithOurs: random(2) === 0,
    };
  }

  /** A log forgets who was silent for a day; such a producer begins with a new epoch. */
  #forgetProducers(): void {
    for (const producer of this.#producers) {
      if (producer.isInTransaction) continue;
      producer.epoch++;
      producer.sequence = 0;
    }
  }

  #step(isHoley: boolean): WriteStep {
    const random = this.#random;
    this.#nowMs += random(300);
    const common = { nowMs: this.#nowMs, leaderEpoch: 0 };
    const choice = random(20);
    if (choice === 0) return { roll: true };
    const drawn = CODECS[random(CODECS.length)];
    const codec = this.#onlyCodec ?? drawn;
    if (choice < 6) return { ...common, codec, records: this.#records(false) };
    if (choice < 9) return { ...common, codec, ...this.#replicated(isHoley) };
    const producer = this.#producers[random(this.#producers.length)] as Producer;
    if (producer.isInTransaction ? choice < 14 : random(30) === 0) {
      producer.isInTransaction = false;
      this.#logEndOffset++;
      return {
        ...common,
        marker: random(2) === 0 ? 'commit' : 'abort',
        producerId: producer.id,
        producerEpoch: producer.epoch,
        coordinatorEpoch: 1,
      };
    }
    if (!producer.isInTransaction && random(6) === 0) {
      producer.epoch++;
      producer.sequence = 0;
    }
    producer.isInTransaction = producer.isTransactional;
    const records = this.#records(false);
    const step = {
      ...common,
      codec,
      records,
      producerId: producer.id,
      producerEpoch: producer.epoch,
      baseSequence: producer.sequence,
      transactional: producer.isTransactional,
    };
    producer.sequence += records.length;
    return step;
  }

  /** As a follower gets it: with holes where compaction was, and the leader's timestamp type. */
  #replicated(isHoley: boolean): WriteStep {
    const random = this.#random;
    const hole = isHoley && random(3) === 0 ? HUGE_HOLE : random(3) === 0 ? random(20) : 0;
    const baseOffset = this.#logEndOffset + hole;
    let offset = baseOffset;
    const records = this.#records(true).map((record) => {
      const placed = { ...record, offset };
      offset += 1 + random(3);
      return placed;
    });
    const lastOffset = offset + random(3);
    this.#logEndOffset = lastOffset + 1;
    const timestampType = random(2) === 0 ? 'LogAppendTime' : 'CreateTime';
    return { baseOffset, records, lastOffset, timestampType };
  }

  #records(isReplicated: boolean): Readonly<Record<string, unknown>>[] {
    const random = this.#random;
    const count = 1 + random(6);
    if (!isReplicated) this.#logEndOffset += count;
    return Array.from({ length: count }, () => ({
      timestamp: this.#nowMs - random(3_000),
      key:
        random(15) === 0
          ? null
          : hex(`k${'y'.repeat(random(2) * 14)}${String(random(this.#keyCount))}`),
      value: random(4) === 0 ? null : hex('v'.repeat(random(random(4) === 0 ? 150 : 20))),
      ...(random(6) === 0 ? { headers: [['h', random(2) === 0 ? null : hex('x')]] } : {}),
    }));
  }
}
