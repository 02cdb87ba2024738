import { errorCodes } from '@millrace/protocol';
import { apiUses } from './apis.ts';
import { brokerError } from './broker-errors.ts';
import { ANY_NODE } from './transport.ts';
import type { Transport } from './transport.ts';

export type CoordinatorType = 'group' | 'transaction';

const keyTypes = { group: 0, transaction: 1 } as const;

/** Which broker coordinates one group or transactional id; asked for once, until it is forgotten. */
export class Coordinator {
  readonly #transport: Transport;
  readonly type: CoordinatorType;
  readonly #key: string;
  readonly #requestTimeoutMs: number;
  #nodeId: number | null = null;
  #finding: Promise<number> | null = null;

  constructor(transport: Transport, type: CoordinatorType, key: string, requestTimeoutMs: number) {
    this.#transport = transport;
    this.type = type;
    this.#key = key;
    this.#requestTimeoutMs = requestTimeoutMs;
  }

  /**
   * Its node id. One try: the caller has the backoff and the bound.
   *
   * @throws BrokerError (retriable while the coordinator is not there yet), AuthorizationError, and
   *   what the transport throws
   */
  async find(): Promise<number> {
    if (this.#nodeId !== null) return this.#nodeId;
    return (this.#finding ??= this.#ask().finally(() => {
      this.#finding = null;
    }));
  }

  /** Null while it is not known. */
  get nodeId(): number | null {
    return this.#nodeId;
  }

  /** It moved or is gone. */
  forget(): void {
    this.#nodeId = null;
  }

  async #ask(): Promise<number> {
    const response = await this.#transport.send(
      ANY_NODE,
      apiUses.findCoordinator,
      { key: this.#key, keyType: keyTypes[this.type] },
      { timeoutMs: this.#requestTimeoutMs },
    );
    const { errorCode, nodeId, host, port } = response;
    if (errorCode !== errorCodes.NONE) {
      const text = `There is no coordinator for ${this.type} ${this.#key}`;
      throw brokerError(errorCode, text, { [this.type]: this.#key });
    }
    this.#transport.addNode({ nodeId, host, port });
    return (this.#nodeId = nodeId);
  }
}
