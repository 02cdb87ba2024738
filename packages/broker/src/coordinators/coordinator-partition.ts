/**
 * The partition of `__consumer_offsets` that a group lives in, or of `__transaction_state` for a
 * transactional id, as Kafka chooses it: Java's hash of the id over UTF-16 units, its absolute value (the
 * smallest integer counts as 0), modulo the count.
 */
export function coordinatorPartition(id: string, partitionCount: number): number {
  let hash = 0;
  for (let index = 0; index < id.length; index += 1) {
    hash = (Math.imul(31, hash) + id.charCodeAt(index)) | 0;
  }
  return (hash === -2_147_483_648 ? 0 : Math.abs(hash)) % partitionCount;
}
