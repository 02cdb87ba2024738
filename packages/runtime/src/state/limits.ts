/** Bounds of the state stores, with their units. */

/** Entries of one JS Map; V8 refuses more than 2^24. */
export const MAP_MAX_ENTRIES = 16_000_000;
/** First size of the buffer into which a store serializes its keys, bytes. */
export const STORE_KEY_INITIAL_BYTES = 1024;
/** Longest serialized key of a store, bytes. */
export const STORE_KEY_MAX_BYTES = 1024 * 1024 * 1024;
/** An in-memory window store forgets expired windows in this many steps per retention period. */
export const EXPIRY_BUCKETS_PER_RETENTION = 8;
/** First size of the buffer through which suppress and grace-join buffers serialize keys and values, bytes. */
export const BUFFER_FIELD_INITIAL_BYTES = 1024;
/** Longest serialized key or value of such a buffer, bytes; V8's strings end a little above. */
export const BUFFER_FIELD_MAX_BYTES = 512 * 1024 * 1024 - 64;
/** Changed keys of a suppress buffer, let go or kept, after which it asks for a commit. */
export const BUFFER_DIRTY_KEYS_COMMIT = 1_000_000;
/** What Kafka Streams counts of each entry of a record cache beside its key: three references, bytes. */
export const CACHE_ENTRY_OVERHEAD_BYTES = 24;
/** ... and beside its value, topic and headers: dirty flag, offset, timestamp, partition, bytes. */
export const CACHE_RECORD_OVERHEAD_BYTES = 21;
/** A value's timestamp, in the bytes that a record cache counts. */
export const CACHE_TIMESTAMP_BYTES = 8;
