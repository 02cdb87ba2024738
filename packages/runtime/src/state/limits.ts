/** Bounds of the state stores, with their units. */

/** Entries of one JS Map; V8 refuses more than 2^24. */
export const MAP_MAX_ENTRIES = 16_000_000;
/** First size of the buffer into which a store serializes its keys, bytes. */
export const STORE_KEY_INITIAL_BYTES = 1024;
/** Longest serialized key of a store, bytes. */
export const STORE_KEY_MAX_BYTES = 1024 * 1024 * 1024;
/** An in-memory window store forgets expired windows in this many steps per retention period. */
export const EXPIRY_BUCKETS_PER_RETENTION = 8;
