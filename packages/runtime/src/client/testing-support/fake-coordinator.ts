import {
  AddOffsetsToTxn,
  AddPartitionsToTxn,
  EndTxn,
  errorCodes,
  FindCoordinator,
  InitProducerId,
  TxnOffsetCommit,
} from '@millrace/protocol';
import type { Api, Encodable } from '@millrace/protocol';
import { ConnectionError } from '../errors.ts';
import { topicPartitionKey } from '../ports.ts';
import type { FakeHandler, FakeTransport } from './fake-transport.ts';

type State = 'Empty' | 'Ongoing' | 'CompleteCommit' | 'CompleteAbort';

/** A transactional id as its coordinator knows it. */
interface Transaction {
  readonly producerId: bigint;
  epoch: number;
  state: State;
  readonly partitions: Set<string>;
  /** The epoch that a producer of its own gave for the present one; -1: another one had it. */
  renewedFrom: number;
  readonly offsets: Map<string, bigint>;
}

/** What happens to a request instead of its answer: a code, or a connection that breaks. */
export type Mishap = number | 'lost before' | 'lost after';

/** Tells the logs of a transaction how it ended. */
export type OnEnd = (
  producerId: bigint,
  partitions: ReadonlySet<string>,
  isCommit: boolean,
) => void;

/**
 * The coordinator of all transactional ids and groups, as node `nodeId`: what Kafka's does in the
 * classic flow, at once. Mishaps are taken one by one.
 */
export class FakeCoordinator {
  readonly transactions = new Map<string, Transaction>();
  /** Committed offsets, by `<group>/<topic>-<partition>`. */
  readonly committed = new Map<string, bigint>();
  /** What the group's members have to say about themselves. */
  generation = 1;
  memberId = 'member';
  nodeId = 1;
  readonly #mishaps = new Map<string, Mishap[]>();
  readonly #onEnd: OnEnd;
  #nextProducerId = 5_000n;

  constructor(transport: FakeTransport, onEnd: OnEnd) {
    this.#onEnd = onEnd;
    this.#on(transport, FindCoordinator, {
      refuse: (errorCode) => ({ errorCode, nodeId: -1, host: '', port: -1 }),
      serve: () => ({ errorCode: 0, nodeId: this.nodeId, host: 'fake', port: this.nodeId }),
    });
    this.#on(transport, AddPartitionsToTxn, {
      refuse: (code, { v3AndBelowTopics }) => answerPartitions(v3AndBelowTopics, code),
      serve: (request) => {
        const found = this.#of(request.v3AndBelowTransactionalId, {
          producerId: request.v3AndBelowProducerId,
          producerEpoch: request.v3AndBelowProducerEpoch,
        });
        if (typeof found === 'number') return answerPartitions(request.v3AndBelowTopics, found);
        this.#begin(found);
        for (const { name, partitions } of request.v3AndBelowTopics) {
          for (const index of partitions) found.partitions.add(topicPartitionKey(name, index));
        }
        return answerPartitions(request.v3AndBelowTopics, errorCodes.NONE);
      },
    });
    this.#on(transport, AddOffsetsToTxn, {
      refuse: (errorCode) => ({ errorCode }),
      serve: (request) => {
        const found = this.#of(request.transactionalId, request);
        if (typeof found === 'number') return { errorCode: found };
        this.#begin(found);
        return { errorCode: 0 };
      },
    });
    this.#on(transport, TxnOffsetCommit, {
      refuse: (errorCode, { topics }) => answerOffsets(topics, errorCode),
      serve: ({ topics, ...request }) => {
        const found = this.#of(request.transactionalId, request);
        if (typeof found === 'number') return answerOffsets(topics, found);
        if (request.memberId !== this.memberId) {
          return answerOffsets(topics, errorCodes.UNKNOWN_MEMBER_ID);
        }
        if (request.generationIdOrMemberEpoch !== this.generation) {
          return answerOffsets(topics, errorCodes.ILLEGAL_GENERATION);
        }
        for (const { name, partitions } of topics) {
          for (const { partitionIndex, committedOffset } of partitions) {
            const key = `${request.groupId}/${topicPartitionKey(name, partitionIndex)}`;
            found.offsets.set(key, committedOffset);
          }
        }
        return answerOffsets(topics, errorCodes.NONE);
      },
    });
    this.#on(transport, EndTxn, {
      refuse: (errorCode) => ({ errorCode }),
      serve: (request) => {
        const found = this.#of(request.transactionalId, request);
        if (typeof found === 'number') return { errorCode: found };
        const outcome = request.committed ? 'CompleteCommit' : 'CompleteAbort';
        if (found.state === outcome) return { errorCode: 0 };
        if (found.state !== 'Ongoing') return { errorCode: errorCodes.INVALID_TXN_STATE };
        this.#end(found, request.committed);
        return { errorCode: 0 };
      },
    });
    transport.on(InitProducerId, ({ nodeId, body }) =>
      this.#answer(nodeId, body, InitProducerId.name, {
        refuse: (errorCode) => ({ errorCode, producerId: -1n, producerEpoch: -1 }),
        serve: (request) => this.#init(request),
      }),
    );
  }

  /** What happens to the next requests of this API, one after the other. */
  mishap({ name }: { readonly name: string }, ...mishaps: readonly Mishap[]): void {
    this.#mishaps.set(name, [...(this.#mishaps.get(name) ?? []), ...mishaps]);
  }

  takeMishap({ name }: { readonly name: string }): Mishap | undefined {
    return this.#mishaps.get(name)?.shift();
  }

  /** NONE if a batch of this producer may be written to the partition. */
  verify(transactionalId: string | null, producerId: bigint, epoch: number, key: string): number {
    const found = this.transactions.get(transactionalId ?? '');
    if (found === undefined) return errorCodes.INVALID_PRODUCER_ID_MAPPING;
    if (found.producerId !== producerId || found.epoch !== epoch) {
      return errorCodes.INVALID_PRODUCER_EPOCH;
    }
    return found.state === 'Ongoing' && found.partitions.has(key)
      ? errorCodes.NONE
      : errorCodes.INVALID_TXN_STATE;
  }

  #on<Req, Res>(transport: FakeTransport, api: Api<Req, Res>, answers: Answers<Req, Res>): void {
    const handler: FakeHandler<Req, Res> = ({ nodeId, body }) =>
      this.#answer(nodeId, body, api.name, answers);
    transport.on(api, handler);
  }

  #answer<Req, Res>(
    nodeId: number,
    body: Req,
    name: string,
    { refuse, serve }: Answers<Req, Res>,
  ): Encodable<Res> {
    const mishap = this.takeMishap({ name });
    if (typeof mishap === 'number') return refuse(mishap, body);
    if (mishap === 'lost before') throw new ConnectionError('lost before');
    if (name !== FindCoordinator.name && nodeId !== this.nodeId) {
      return refuse(errorCodes.NOT_COORDINATOR, body);
    }
    const answer = serve(body);
    if (mishap === 'lost after') throw new ConnectionError('lost after');
    return answer;
  }

  #init(request: {
    readonly transactionalId: string | null;
    readonly producerId: bigint;
    readonly producerEpoch: number;
  }): { errorCode: number; producerId: bigint; producerEpoch: number } {
    const id = request.transactionalId ?? '';
    let found = this.transactions.get(id);
    if (found === undefined) {
      const offsets = new Map<string, bigint>();
      const partitions = new Set<string>();
      const producerId = this.#nextProducerId++;
      found = { producerId, epoch: -1, state: 'Empty', partitions, renewedFrom: -1, offsets };
      this.transactions.set(id, found);
    } else if (request.producerId >= 0n) {
      const { producerId } = found;
      const isOwn = producerId === request.producerId && found.epoch === request.producerEpoch;
      // An answer that was lost is given again.
      if (producerId === request.producerId && found.renewedFrom === request.producerEpoch) {
        return { errorCode: 0, producerId, producerEpoch: found.epoch };
      }
      if (!isOwn) {
        return { errorCode: errorCodes.PRODUCER_FENCED, producerId: -1n, producerEpoch: -1 };
      }
    }
    found.renewedFrom = request.producerEpoch;
    if (found.state === 'Ongoing') this.#end(found, false);
    found.epoch++;
    found.state = 'Empty';
    return { errorCode: 0, producerId: found.producerId, producerEpoch: found.epoch };
  }

  #of(
    transactionalId: string,
    { producerId, producerEpoch }: { producerId: bigint; producerEpoch: number },
  ): Transaction | number {
    const found = this.transactions.get(transactionalId);
    if (found?.producerId !== producerId) return errorCodes.INVALID_PRODUCER_ID_MAPPING;
    return found.epoch === producerEpoch ? found : errorCodes.PRODUCER_FENCED;
  }

  #begin(transaction: Transaction): void {
    if (transaction.state === 'Ongoing') return;
    transaction.state = 'Ongoing';
    transaction.partitions.clear();
    transaction.offsets.clear();
  }

  #end(transaction: Transaction, isCommit: boolean): void {
    transaction.state = isCommit ? 'CompleteCommit' : 'CompleteAbort';
    this.#onEnd(transaction.producerId, transaction.partitions, isCommit);
    if (!isCommit) return;
    for (const [key, offset] of transaction.offsets) this.committed.set(key, offset);
  }
}

interface Answers<Req, Res> {
  readonly refuse: (code: number, request: Req) => Encodable<Res>;
  readonly serve: (request: Req) => Encodable<Res>;
}

function answerPartitions(
  topics: readonly { readonly name: string; readonly partitions: readonly number[] }[],
  partitionErrorCode: number,
) {
  return {
    resultsByTopicV3AndBelow: topics.map(({ name, partitions }) => ({
      name,
      resultsByPartition: partitions.map((partitionIndex) => ({
        partitionIndex,
        partitionErrorCode,
      })),
    })),
  };
}

function answerOffsets(
  topics: readonly {
    readonly name: string;
    readonly partitions: readonly { readonly partitionIndex: number }[];
  }[],
  errorCode: number,
) {
  return {
    topics: topics.map(({ name, partitions }) => ({
      name,
      partitions: partitions.map(({ partitionIndex }) => ({ partitionIndex, errorCode })),
    })),
  };
}
