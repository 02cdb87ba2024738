/** Bounds of what coordinators write. The unit is the last word of the name. */

/**
 * Bytes of tombstones put into one batch; deleting a group with many offsets, or many expired transactional ids, takes
 * several.
 */
export const TOMBSTONE_BATCH_BYTES = 64 * 1024;

/** A record batch of a coordinator that is not split: as large as any log takes. */
export const COORDINATOR_BATCH_BYTES = 2_147_483_647;
