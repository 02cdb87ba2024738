import type { Logger } from 'pino';
import { errorCodes } from '@millrace/protocol';
import { InvariantError, ShutdownError, StreamsError } from '../errors.ts';
import type { Random } from '../platform/random.ts';
import { apiUses } from './apis.ts';
import { Backoff } from './backoff.ts';
import { brokerError } from './broker-errors.ts';
import { FAILURES_BEFORE_WARNING } from './limits.ts';
import type { ProducerIdentity } from './produce-batch.ts';
import type { Sleeper } from './sleeper.ts';
import { ANY_NODE } from './transport.ts';
import type { Transport } from './transport.ts';

export interface IdentitySourceOptions {
  readonly transport: Transport;
  readonly random: Random;
  readonly logger: Logger;
  readonly sleeper: Sleeper;
  readonly requestTimeoutMs: number;
  readonly onIdentity: () => void;
  /** No retry will help. */
  readonly onFatal: (error: Error) => void;
}

/** Producer ids (KIP-98), one asked for at a time. Without a transactional id every answer is a new id. */
export class IdentitySource {
  readonly #options: IdentitySourceOptions;
  #current: ProducerIdentity | null = null;
  #isAsking = false;

  constructor(options: IdentitySourceOptions) {
    this.#options = options;
  }

  /** The newest identity, if it is another than `used`; otherwise a new one is asked for. */
  other(used: ProducerIdentity | null): ProducerIdentity | null {
    if (this.#current !== null && this.#current !== used) return this.#current;
    if (!this.#isAsking) void this.#ask();
    return null;
  }

  async #ask(): Promise<void> {
    const { sleeper, random, logger } = this.#options;
    this.#isAsking = true;
    const backoff = new Backoff(random);
    for (;;) {
      try {
        this.#current = await this.#init();
        this.#isAsking = false;
        this.#options.onIdentity();
        return;
      } catch (error) {
        if (error instanceof ShutdownError) return;
        if (!(error instanceof StreamsError) || !error.retriable) {
          this.#isAsking = false;
          this.#options.onFatal(error instanceof Error ? error : new InvariantError(String(error)));
          return;
        }
        const waitMs = backoff.next();
        const isOutage = backoff.failureCount === FAILURES_BEFORE_WARNING;
        logger[isOutage ? 'warn' : 'debug']({ err: error }, 'no producer id; trying again');
        try {
          await sleeper.sleep(waitMs);
        } catch {
          // Closed while it waited: nobody needs the id any more.
          return;
        }
      }
    }
  }

  async #init(): Promise<ProducerIdentity> {
    const { transport, requestTimeoutMs } = this.#options;
    const response = await transport.send(
      ANY_NODE,
      apiUses.initProducerId,
      { transactionalId: null, transactionTimeoutMs: NO_TRANSACTION_TIMEOUT_MS },
      { timeoutMs: requestTimeoutMs },
    );
    if (response.errorCode !== errorCodes.NONE) {
      throw brokerError(response.errorCode, 'No producer id could be had', {});
    }
    return { producerId: response.producerId, producerEpoch: response.producerEpoch };
  }
}

/** What Kafka's own client sends when there is no transactional id. */
const NO_TRANSACTION_TIMEOUT_MS = 0x7fffffff;
