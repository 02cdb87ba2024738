export const T0 = 1_700_000_000_000;

interface RecordStep {
  readonly key: string | null;
  readonly value: string | null;
  readonly timestamp: number;
  readonly headers?: readonly (readonly [string, string | null])[];
}

/** One line of the oracle's `write` request; bytes are hex. */
export interface Step {
  readonly nowMs?: number;
  readonly records?: readonly RecordStep[];
  readonly codec?: string;
  readonly producerId?: number;
  readonly producerEpoch?: number;
  readonly baseSequence?: number;
  readonly transactional?: boolean;
  readonly leaderEpoch?: number;
  readonly marker?: 'commit' | 'abort';
  readonly coordinatorEpoch?: number;
  readonly timestamp?: number;
  readonly roll?: boolean;
}

/** mulberry32: a seed's history is always the same. */
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
  epoch: number;
  sequence: number;
  isInTransaction: boolean;
}

const CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'];
const hex = (text: string): string => Buffer.from(text).toString('hex');

/** A random history: plain, idempotent and transactional producers, epochs, repeats, rolls. */
export function historyOf(seed: number, options: { readonly codecs: boolean }): Step[] {
  const random = randomOf(seed * 7919);
  const producers: Producer[] = [1, 2, 3, 4].map((id) => ({
    id,
    epoch: random(3),
    sequence: 0,
    isInTransaction: false,
  }));
  const steps: Step[] = [];
  let now = T0;
  let leaderEpoch = 0;
  let coordinatorEpoch = 0;
  const count = 40 + random(60);
  for (let i = 0; i < count; i++) {
    now += random(2000);
    if (random(15) === 0) leaderEpoch += 1 + random(3);
    const choice = random(20);
    const common = { nowMs: now, leaderEpoch };
    if (choice === 0) {
      steps.push({ roll: true });
      continue;
    }
    const codec = options.codecs ? (CODECS[random(CODECS.length)] as string) : 'none';
    const records = recordsOf(random, now);
    if (choice < 6) {
      steps.push({ ...common, codec, records });
      continue;
    }
    const producer = producers[random(producers.length)] as Producer;
    if (producer.isInTransaction && choice < 10) {
      if (random(4) === 0) coordinatorEpoch++;
      steps.push({
        ...common,
        marker: random(2) === 0 ? 'commit' : 'abort',
        producerId: producer.id,
        producerEpoch: producer.epoch,
        coordinatorEpoch,
        timestamp: now,
      });
      producer.isInTransaction = false;
      continue;
    }
    if (!producer.isInTransaction && random(8) === 0) {
      producer.epoch++;
      producer.sequence = 0;
    }
    // Producers 3 and 4 write transactions only, as one with a transactional id does.
    const transactional = producer.id > 2;
    if (transactional) producer.isInTransaction = true;
    const step: Step = {
      ...common,
      codec,
      records,
      producerId: producer.id,
      producerEpoch: producer.epoch,
      baseSequence: producer.sequence,
      transactional,
    };
    producer.sequence += records.length;
    steps.push(step);
    if (random(6) === 0) steps.push(step);
  }
  return steps;
}

function recordsOf(random: (below: number) => number, now: number): RecordStep[] {
  return Array.from({ length: 1 + random(8) }, (_, i) => {
    const record = {
      key: random(6) === 0 ? null : hex(`key-${String(random(10))}`),
      value: random(6) === 0 ? null : hex('v'.repeat(random(120)) + String(i)),
      timestamp: now - random(5000),
    };
    if (random(4) !== 0) return record;
    return {
      ...record,
      headers: [
        ['h', hex('x')],
        ['h', null],
      ] as const,
    };
  });
}
