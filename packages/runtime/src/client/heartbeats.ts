import { errorCodes } from '@millrace/protocol';
import { StreamsError } from '../errors.ts';
import type { Clock, Timer } from '../platform/clock.ts';
import { apiUses } from './apis.ts';
import type { Coordinator } from './coordinator.ts';
import { RETRY_BACKOFF_MAX_MS } from './limits.ts';
import type { GroupMetadata } from './ports.ts';
import type { Transport } from './transport.ts';

export interface HeartbeatOptions {
  readonly transport: Transport;
  readonly coordinator: Coordinator;
  readonly clock: Clock;
  readonly intervalMs: number;
  readonly sessionTimeoutMs: number;
  /** The broker's code, 0 among them, for a heartbeat of the generation that is current. */
  readonly onAnswer: (errorCode: number) => void;
  readonly onFatal: (error: Error) => void;
}

/**
 * Heartbeats of one generation by a timer of their own: processing, restoring and the handlers of the
 * group never hold them up.
 */
export class Heartbeats {
  readonly #options: HeartbeatOptions;
  #timer: Timer | null = null;
  /** Changes with each start and stop, so that late answers are known as such. */
  #epoch = 0;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  start(metadata: GroupMetadata): void {
    this.stop();
    this.#schedule(metadata, this.#epoch, this.#options.intervalMs);
  }

  stop(): void {
    this.#epoch++;
    this.#timer?.cancel();
    this.#timer = null;
  }

  #schedule(metadata: GroupMetadata, epoch: number, ms: number): void {
    this.#timer = this.#options.clock.setTimer(ms, () => {
      this.#timer = null;
      void this.#beat(metadata, epoch);
    });
  }

  async #beat(metadata: GroupMetadata, epoch: number): Promise<void> {
    const { transport, coordinator, intervalMs, sessionTimeoutMs } = this.#options;
    const { groupId, generation, memberId, groupInstanceId } = metadata;
    let waitMs = intervalMs;
    try {
      const nodeId = await coordinator.find();
      if (epoch !== this.#epoch) return;
      const { errorCode } = await transport.send(
        nodeId,
        groupInstanceId === null ? apiUses.heartbeat : apiUses.heartbeatStatic,
        { groupId, generationId: generation, memberId, groupInstanceId },
        { timeoutMs: Math.min(sessionTimeoutMs, Math.max(intervalMs, RETRY_BACKOFF_MAX_MS)) },
      );
      if (epoch !== this.#epoch) return;
      this.#options.onAnswer(errorCode);
      if (errorCode === errorCodes.COORDINATOR_LOAD_IN_PROGRESS) waitMs = soon(intervalMs);
    } catch (error) {
      if (epoch !== this.#epoch) return;
      if (!(error instanceof StreamsError) || !error.retriable) {
        this.#options.onFatal(error instanceof Error ? error : new Error(String(error)));
        return;
      }
      coordinator.forget();
      waitMs = soon(intervalMs);
    }
    if (epoch === this.#epoch) this.#schedule(metadata, epoch, waitMs);
  }
}

/** After a failure not a whole interval is waited: the session runs out meanwhile. */
function soon(intervalMs: number): number {
  return Math.min(intervalMs, RETRY_BACKOFF_MAX_MS);
}
