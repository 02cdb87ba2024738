/** Bounds of the state stores, with their units. */

/** Entries of one JS Map; V8 refuses more than 2^24. */
export const MAP_MAX_ENTRIES = 16_000_000;
/** First size of the buffer into which a store serializes its keys, bytes. */
export const STORE_KEY_INITIAL_BYTES = 1024;
/** Longest serialized key of a store, bytes. */
export const STORE_KEY_MAX_BYTES = 1024 * 1024 * 1024;
/** First size of the buffer into which a store serializes its values, bytes. */
export const STORE_VALUE_INITIAL_BYTES = 1024;
/** Longest serialized value of a store, bytes. */
export const STORE_VALUE_MAX_BYTES = 1024 * 1024 * 1024;
/** Memory for rows comes in chunks of this size, bytes. */
export const ROW_CHUNK_BYTES = 1024 * 1024;
/** ... and an int32 names a place in so many of them. */
export const ROW_CHUNKS_MAX = 32_768;
/** ... of which the first begins with so many. */
export const ROW_CHUNK_MIN_BYTES = 8 * 1024;
/** Up to here, memory of a row is used again for rows of exactly its size; above, of about its size, bytes. */
export const ROW_EXACT_MAX_BYTES = 1024;
/** A longer value is kept apart from its row, bytes. */
export const ROW_INLINE_VALUE_MAX_BYTES = 4096;
/** Place of a row in its table, with the empty ones beside it, bytes. */
export const ROW_SLOT_BYTES = 16;
/** Keys whose rows are looked at together: more loads than a processor has on the way, and few enough to stay in its first cache. */
export const ROWS_EXPECTED_MAX = 32;
/** Places of a new table of rows. */
export const ROW_SLOTS_MIN = 64;
/** A table of windows that takes less is used again for later ones, however few were in it, bytes. */
export const SPARE_TABLE_MIN_BYTES = 64 * 1024;
/** Stores in memory with a retention forget what has expired in this many steps per retention period. */
export const EXPIRY_BUCKETS_PER_RETENTION = 8;
/** Keys without anything left that an in-memory session store keeps in any case. */
export const IDLE_KEYS_MIN = 1_024;
/** First size of the buffer through which suppress and grace-join buffers serialize keys and values, bytes. */
export const BUFFER_FIELD_INITIAL_BYTES = 1024;
/** Longest serialized key or value of such a buffer, bytes; V8's strings end a little above. */
export const BUFFER_FIELD_MAX_BYTES = 512 * 1024 * 1024 - 64;
/** Changed keys of a suppress buffer, let go or kept, after which it asks for a commit. */
export const BUFFER_DIRTY_KEYS_COMMIT = 200_000;
/** What Kafka Streams counts of each entry of a record cache beside its key: three references, bytes. */
export const CACHE_ENTRY_OVERHEAD_BYTES = 24;
/** ... and beside its value, topic and headers: dirty flag, offset, timestamp, partition, bytes. */
export const CACHE_RECORD_OVERHEAD_BYTES = 21;
/** A value's timestamp, in the bytes that a record cache counts. */
export const CACHE_TIMESTAMP_BYTES = 8;
/** Length of the headers before a value that has some, in the bytes that a record cache counts. */
export const CACHE_HEADERS_LENGTH_BYTES = 1;
/** Segment and window start with its sequence number in a window's key, in the bytes that a record cache counts. */
export const CACHE_WINDOW_KEY_BYTES = 8 + 8 + 4;
/** Segment, session end and session start in a session's key, in the bytes that a record cache counts. */
export const CACHE_SESSION_KEY_BYTES = 8 + 8 + 8;
/** Least length of a persistent window store's segment, ms; otherwise it is half the retention. */
export const SEGMENT_INTERVAL_MIN_MS = 60_000;
/** Tables of a task's environment beyond one per store and live segment: offsets, format, segments on their way out. */
export const LMDB_TABLES_SPARE = 64;
/** Longest key that LMDB takes, less the byte that stands before each of ours; longer ones are kept by their hash. */
export const LMDB_INLINE_KEY_MAX_BYTES = 1_977;
/** Committed rows of a task that are gathered before they are written to disk, bytes. */
export const SPILL_BYTES = 32 * 1024 * 1024;
/** Longest time that a committed row waits to be written to disk, ms. */
export const SPILL_INTERVAL_MS = 10_000;
/** Rows that are dealt out to ranges of keys between two turns of the event loop. */
export const SPILL_TURN_ROWS = 8_192;
/** Keys that are sorted beforehand for each slice that is handed to LMDB, to find where slices begin. */
export const SPILL_SAMPLES_PER_SLICE = 8;
/** Rows that are handed to LMDB between two turns of the event loop, about. */
export const SPILL_SLICE_ROWS = 1_024;
/** Memory that the rows of one store may take which are on disk as well, bytes. */
export const CLEAN_ROWS_MAX_BYTES = 48 * 1024 * 1024;
/** What a row takes in memory beside its key and value: object, map entry, boxes, bytes. */
export const ROW_OVERHEAD_BYTES = 160;
/** Rows that are looked at, for each that is added, to find some that may be forgotten. */
export const CLEAN_ROWS_LOOKS = 8;
/** Keys and sessions that one persistent session store has listed in memory. */
export const SESSION_LISTS_MAX_ENTRIES = 100_000;
/** Lists of a key's sessions that are looked at, for each session that is added, to find some that may be forgotten. */
export const SESSION_LISTS_LOOKS = 8;
/** Values on their way to disk are put together in pieces of memory of this size, bytes. */
export const ARENA_CHUNK_BYTES = 256 * 1024;
/** Kafka Streams adds a day to a history's retention before its changelog may be compacted, ms. */
export const VERSIONED_CHANGELOG_ADDITIONAL_LAG_MS = 86_400_000;
/** Histories that a persistent versioned store looks through for expired versions at one commit. */
export const HISTORY_SWEEP_ROWS = 4_096;
/** Rows that a walk over a table on disk reads at first. */
export const WALK_FIRST_ROWS = 16;
/** ... and at most at a time. */
export const WALK_ROWS = 256;
/** Tables that one store may have open at a time: its live segments, and those on their way out. */
export const STATE_TABLES_PER_STORE = 16;
/** A disk with less room than this counts as full, bytes: LMDB is not to find out in the middle of a write. */
export const DISK_FULL_FREE_BYTES = 16 * 1024 * 1024;
