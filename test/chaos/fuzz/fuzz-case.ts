import { type Api, apis, encodeRequest } from '@millrace/protocol';
import { SeededRandom } from '../../golden/fuzz/random.ts';
import { MessageMaker, type Names } from './random-message.ts';

export interface ServedApi {
  readonly api: Api<unknown, unknown>;
  readonly min: number;
  readonly max: number;
}

/** A request whose answer is known by its correlation id. */
export interface Question {
  readonly api: Api<unknown, unknown>;
  readonly version: number;
  readonly correlationId: number;
  /** It must be answered at once; others may wait, are not answered at all, or are none any more. */
  readonly isDue: boolean;
}

const caseKinds = {
  wellFormed: 50,
  pipelined: 8,
  damaged: 22,
  cut: 6,
  length: 6,
  noise: 5,
  unserved: 4,
} as const;
type CaseKind = keyof typeof caseKinds;

/** What is done on one connection. */
export interface FuzzCase {
  readonly index: number;
  readonly kind: CaseKind;
  readonly what: string;
  /** Written one after the other. */
  readonly writes: readonly Buffer[];
  readonly questions: readonly Question[];
  /** How the connection is left: as it is, closed for writing, or cut off. */
  readonly after: 'stay' | 'end' | 'destroy';
  /** The broker may close the connection. */
  readonly mayClose: boolean;
}

const PRODUCE = 0;
/** Fetch, JoinGroup, SyncGroup: their answers may come when others have come, too. */
const WAITING_APIS: ReadonlySet<number> = new Set([1, 11, 14]);
const CORRELATIONS_PER_CASE = 64;
const LENGTHS = [-1, -2_147_483_648, 0, 1, 7, 8, 104_857_600, 104_857_601, 2_147_483_647] as const;
const HOSTILE_INTEGERS = [-1, -2, 0x7fffffff, -0x80000000, 0x00ffffff, 0x7fff, 0] as const;

/** The same for the same numbers. */
export function fuzzCase(
  seed: number,
  index: number,
  served: readonly ServedApi[],
  names: Names,
): FuzzCase {
  return new CaseMaker(new SeededRandom(seed * 1_000_003 + index), index, served, names).make();
}

class CaseMaker {
  readonly #random: SeededRandom;
  readonly #index: number;
  readonly #served: readonly ServedApi[];
  readonly #messages: MessageMaker;
  #correlationId: number;

  constructor(random: SeededRandom, index: number, served: readonly ServedApi[], names: Names) {
    this.#random = random;
    this.#index = index;
    this.#served = served;
    this.#messages = new MessageMaker(random, names);
    this.#correlationId = (index * CORRELATIONS_PER_CASE) % 2 ** 30;
  }

  make(): FuzzCase {
    const kind = this.#random.weighted(caseKinds);
    const one = this.#request();
    const what = `${kind} ${one.question.api.name} v${one.question.version}`;
    const noQuestion = { index: this.#index, kind, what, questions: [], mayClose: true } as const;
    switch (kind) {
      case 'wellFormed':
        return { ...noQuestion, ...this.#written([one]), after: 'stay' };
      case 'pipelined': {
        const more = Array.from({ length: 1 + this.#random.int(12) }, () => this.#request());
        return { ...noQuestion, ...this.#written([one, ...more]), after: 'stay' };
      }
      case 'damaged': {
        const frame = this.#damaged(one.frame);
        return {
          ...noQuestion,
          writes: [frame],
          questions: this.#questionOf(frame),
          after: this.#random.pick(['stay', 'stay', 'destroy']),
        };
      }
      case 'cut': {
        const length = this.#random.int(one.frame.length);
        const after = this.#random.pick(['end', 'destroy'] as const);
        return { ...noQuestion, writes: [one.frame.subarray(0, length)], after };
      }
      case 'length': {
        const frame = Buffer.from(one.frame);
        frame.writeInt32BE(this.#random.pick(LENGTHS), 0);
        return {
          ...noQuestion,
          writes: [frame],
          after: this.#random.pick(['end', 'destroy']),
        };
      }
      case 'noise':
        return { ...noQuestion, writes: [this.#messages.bytes(3_000)], after: 'end' };
      case 'unserved': {
        const frame = Buffer.from(one.frame);
        if (this.#random.oneIn(2)) frame.writeInt16BE(this.#random.int(65_536) - 32_768, 4);
        else frame.writeInt16BE(this.#random.int(65_536) - 32_768, 6);
        return { ...noQuestion, writes: [frame], after: 'end' };
      }
    }
  }

  #written(
    requests: readonly { frame: Buffer; question: Question }[],
  ): Pick<FuzzCase, 'writes' | 'questions' | 'mayClose'> {
    const questions = requests.map(({ question }) => question);
    // What comes behind a request that waits, waits as well.
    const waiting = questions.findIndex(({ isDue }) => !isDue);
    return {
      writes: this.#inPieces(Buffer.concat(requests.map(({ frame }) => frame))),
      questions: questions.map((question, at) =>
        waiting >= 0 && at > waiting ? { ...question, isDue: false } : question,
      ),
      // Without an answer to give, an error closes the connection.
      mayClose: questions.some(({ api, isDue }) => api.key === PRODUCE && !isDue),
    };
  }

  #inPieces(bytes: Buffer): Buffer[] {
    if (!this.#random.oneIn(5)) return [bytes];
    const pieces: Buffer[] = [];
    for (let at = 0; at < bytes.length;) {
      const end = at + 1 + this.#random.int(pieces.length < 10 ? 20 : bytes.length);
      pieces.push(bytes.subarray(at, end));
      at = end;
    }
    return pieces;
  }

  #request(): { frame: Buffer; question: Question } {
    const { api, min, max } = this.#random.pick(this.#served);
    const version = min + this.#random.int(max - min + 1);
    const body = this.#messages.make(api.request, version);
    const correlationId = this.#correlationId++;
    const clientId = this.#random.oneIn(50)
      ? 'y'.repeat(32_767)
      : this.#random.pick([null, '', 'fuzz', 'y'.repeat(300)]);
    const frame = Buffer.concat(encodeRequest(api, version, { correlationId, clientId }, body));
    const isUnanswered = api.key === PRODUCE && body['acks'] === 0;
    const isDue = !isUnanswered && !WAITING_APIS.has(api.key);
    return { frame, question: { api, version, correlationId, isDue } };
  }

  /** What a damaged request is now: it may be another one. */
  #questionOf(frame: Buffer): Question[] {
    if (frame.length < 12) return [];
    const [key, version] = [frame.readInt16BE(4), frame.readInt16BE(6)];
    const served = this.#served.find(({ api }) => api.key === key);
    if (served === undefined) return [];
    return [{ api: served.api, version, correlationId: frame.readInt32BE(8), isDue: false }];
  }

  /** Some bytes are others; the length in front is right again, mostly. */
  #damaged(frame: Buffer): Buffer {
    let bytes = Buffer.from(frame);
    for (let left = 1 + this.#random.int(4); left > 0; left--) {
      const at = 4 + this.#random.int(Math.max(1, bytes.length - 4));
      switch (this.#random.weighted({ bit: 3, byte: 2, integer: 3, take: 1, put: 1, ones: 1 })) {
        case 'bit':
          bytes[at] = (bytes[at] ?? 0) ^ (1 << this.#random.int(8));
          break;
        case 'byte':
          bytes[at] = this.#random.int(256);
          break;
        case 'integer':
          if (at + 4 <= bytes.length) bytes.writeInt32BE(this.#random.pick(HOSTILE_INTEGERS), at);
          break;
        case 'take':
          bytes = Buffer.concat([
            bytes.subarray(0, at),
            bytes.subarray(at + 1 + this.#random.int(4)),
          ]);
          break;
        case 'put':
          bytes = Buffer.concat([
            bytes.subarray(0, at),
            this.#messages.bytes(8),
            bytes.subarray(at),
          ]);
          break;
        case 'ones':
          bytes.fill(0xff, at, Math.min(bytes.length, at + 5));
          break;
      }
    }
    if (!this.#random.oneIn(10)) bytes.writeInt32BE(bytes.length - 4, 0);
    return bytes;
  }
}

/** The APIs in the versions that a broker says it serves, as far as they are declared. */
export function servedApis(
  ranges: readonly { apiKey: number; minVersion: number; maxVersion: number }[],
): ServedApi[] {
  return ranges.flatMap(({ apiKey, minVersion, maxVersion }) => {
    const api = apis.get(apiKey);
    if (api === undefined) return [];
    return [
      {
        api,
        min: Math.max(minVersion, api.minVersion),
        max: Math.min(maxVersion, api.maxVersion),
      },
    ];
  });
}
