import { connect, type Socket } from 'node:net';
import { decodeResponse, encodeResponse, errorCodes } from '@millrace/protocol';
import type { FuzzCase, Question } from './fuzz-case.ts';

/** An answer that is due comes within this, also on a busy machine, ms. */
const ANSWER_DEADLINE_MS = 20_000;
/** For what may come or not, ms. */
const PATIENCE_MS = 15;

/** One connection that says what it is told, and reads every answer by its schema. */
export class FuzzConnection {
  readonly #socket: Socket;
  readonly #questions = new Map<number, Question>();
  #received: Buffer[] = [];
  #receivedBytes = 0;
  #isClosed = false;
  #changed: (() => void) | null = null;
  /** What was wrong with an answer. */
  #fault: string | null = null;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#isClosed = true;
      this.#changed?.();
    });
  }

  static async open(port: number): Promise<FuzzConnection> {
    const socket = connect(port, '127.0.0.1');
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    return new FuzzConnection(socket);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Resolves with what was wrong, or null. */
  async run(fuzzCase: FuzzCase): Promise<string | null> {
    const { writes, questions, after, mayClose } = fuzzCase;
    for (const question of questions) this.#questions.set(question.correlationId, question);
    for (const [at, bytes] of writes.entries()) {
      if (this.#isClosed) break;
      this.#socket.write(bytes);
      if (at > 0) await new Promise((resolve) => setImmediate(resolve));
    }
    const due = questions.filter(({ isDue }) => isDue);
    const answered = (): boolean =>
      due.every(({ correlationId }) => !this.#questions.has(correlationId));
    await this.#until(() => this.#isClosed || answered(), ANSWER_DEADLINE_MS);
    if (this.#fault === null && due.length > 0 && !answered() && !(this.#isClosed && mayClose)) {
      const { api, version } = due[0] as Question;
      return this.#isClosed
        ? `closed the connection over ${api.name} v${version}`
        : `no answer to ${api.name} v${version} in ${ANSWER_DEADLINE_MS} ms`;
    }
    if (due.length < questions.length || questions.length === 0) {
      if (after === 'end') this.#socket.end();
      await this.#until(() => this.#isClosed, PATIENCE_MS);
      // Whatever is still to come would be taken for an answer to something else.
      this.close();
    }
    return this.#fault;
  }

  close(): void {
    this.#isClosed = true;
    this.#questions.clear();
    this.#socket.destroy();
  }

  #until(holds: () => boolean, deadlineMs: number): Promise<void> {
    if (holds()) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#changed = null;
        resolve();
      };
      const timer = setTimeout(done, deadlineMs);
      this.#changed = () => {
        if (holds()) done();
      };
    });
  }

  #receive(chunk: Buffer): void {
    this.#received.push(chunk);
    this.#receivedBytes += chunk.length;
    let all: Buffer | null = null;
    while (this.#receivedBytes >= 4) {
      all ??= Buffer.concat(this.#received);
      const length = all.readInt32BE(0);
      if (all.length < 4 + length) break;
      this.#answer(all.subarray(4, 4 + length));
      all = all.subarray(4 + length);
      this.#receivedBytes = all.length;
    }
    if (all !== null) this.#received = [all];
    this.#changed?.();
  }

  #answer(frame: Buffer): void {
    const question = this.#questions.get(frame.readInt32BE(0));
    // A damaged request may have named another correlation id.
    if (question === undefined) return;
    this.#questions.delete(question.correlationId);
    const { api, version, correlationId } = question;
    try {
      const answer = decodeResponse(api, version, Buffer.from(frame.subarray(4)));
      const isRefused =
        (answer as { errorCode?: number }).errorCode === errorCodes.UNSUPPORTED_VERSION;
      const again = Buffer.concat(
        encodeResponse(api, isRefused ? 0 : version, correlationId, answer),
      );
      if (!again.subarray(4).equals(frame))
        this.#fault ??= `the answer has other bytes than its schema: ${frame.toString('hex')}`;
      if (holdsUnknownError(answer)) this.#fault ??= 'the answer says UNKNOWN_SERVER_ERROR';
    } catch (error) {
      this.#fault ??= `the answer does not fit its schema: ${String(error)}`;
    }
  }
}

function holdsUnknownError(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return false;
  return Object.entries(value).some(([name, part]) =>
    typeof part === 'object'
      ? holdsUnknownError(part)
      : /errorCode$/i.test(name) && part === errorCodes.UNKNOWN_SERVER_ERROR,
  );
}
