import { errorCodes } from '@millrace/protocol';
import { isEpochExhausted, NO_PRODUCER_EPOCH, type Transaction } from './transaction.ts';

/** A producer id with its epoch. */
export interface ProducerIdentity {
  readonly producerId: bigint;
  readonly producerEpoch: number;
}

/** The step cannot be made without an id that has never been given out. */
export const NEW_PRODUCER_ID_NEEDED = 'newProducerIdNeeded';

type NextProducer = Pick<Transaction, 'producerId' | 'producerEpoch' | 'lastProducerEpoch'>;

/**
 * What InitProducerId gives for a transactional id that has no decided transaction waiting: the next
 * epoch, or a new producer id when the epochs are exhausted, or PRODUCER_FENCED.
 *
 * A producer that goes on after an error says what it has had (KIP-360): it gets the next epoch only if
 * nobody came in between, and the same answer once more if it did not hear the first one.
 */
export function nextProducer(
  transaction: Transaction,
  expected: ProducerIdentity | null,
  newProducerId: bigint | null,
): NextProducer | typeof NEW_PRODUCER_ID_NEEDED | number {
  const { producerId, producerEpoch, lastProducerEpoch, previousProducerId } = transaction;
  const isNew = producerEpoch === NO_PRODUCER_EPOCH;
  if (expected !== null && !isNew) {
    const mayBeRepeatAfterExhaustion =
      expected.producerId === previousProducerId && isEpochExhausted(expected.producerEpoch);
    if (expected.producerId !== producerId && !mayBeRepeatAfterExhaustion) {
      return errorCodes.PRODUCER_FENCED;
    }
  }
  // Whatever comes of it, the open transaction is aborted first.
  if (transaction.state === 'Ongoing') return { producerId, producerEpoch, lastProducerEpoch };
  const isPresent = expected === null || isNew || expected.producerEpoch === producerEpoch;
  if (!isPresent) {
    return expected.producerEpoch === lastProducerEpoch
      ? { producerId, producerEpoch, lastProducerEpoch }
      : errorCodes.PRODUCER_FENCED;
  }
  const lastEpoch = expected === null ? NO_PRODUCER_EPOCH : producerEpoch;
  if (!isEpochExhausted(producerEpoch)) {
    return { producerId, producerEpoch: producerEpoch + 1, lastProducerEpoch: lastEpoch };
  }
  if (newProducerId === null) return NEW_PRODUCER_ID_NEEDED;
  return { producerId: newProducerId, producerEpoch: 0, lastProducerEpoch: lastEpoch };
}
