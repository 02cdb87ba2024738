/** Bounds of the transaction coordinator that are no Kafka configuration. The unit is the last word of the name. */

/** Transactional ids that are known at one time; a further one is refused with POLICY_VIOLATION. */
export const TRANSACTIONAL_IDS = 100_000;

/** Markers that could not be written, for instance to a full disk, are tried again after this. */
export const MARKER_RETRY_MS = 500;

/** Transactional ids that are looked at for expiry before the loop is given back. */
export const EXPIRY_SLICE_IDS = 5_000;
