/** Offset index entry: relative offset and file position, int32 each. */
export const OFFSET_INDEX_ENTRY_BYTES = 8;

/** Time index entry: int64 timestamp, int32 relative offset. */
export const TIME_INDEX_ENTRY_BYTES = 12;

/** Transaction index entry: version, producer id, first offset, last offset, last stable offset. */
export const TXN_INDEX_ENTRY_BYTES = 34;

/** Relative offsets within a segment are int32. */
export const MAX_RELATIVE_OFFSET = 2_147_483_647n;

/** File positions within a segment are int32. */
export const MAX_SEGMENT_BYTES = 2_147_483_647;

/** Batches of one producer that are remembered to answer its retries (Kafka's number). */
export const BATCHES_REMEMBERED_PER_PRODUCER = 5;

/** After a kill, how much of a log's end is read for what producers may repeat, bytes. */
export const PRODUCER_RECALL_BYTES = 33_554_432;

/** Producers that are silent for this long are forgotten (producer.id.expiration.ms). */
export const PRODUCER_EXPIRATION_MS = 86_400_000;

/** Records that are named when a batch is refused. */
export const MAX_RECORD_ERRORS_REPORTED = 100;

/** Inactive segments whose log file is kept open, per log directory. */
export const MAX_OPEN_INACTIVE_SEGMENTS = 512;

/** Memory for the indexes of inactive segments, per log directory, bytes. */
export const MAX_CACHED_INDEX_BYTES = 67_108_864;

/** Batch headers are looked for in steps of this many bytes. */
export const SCAN_CHUNK_BYTES = 8_192;

/** Start-up reads segments in steps of this many bytes (a larger batch gets a larger buffer). */
export const RECOVERY_CHUNK_BYTES = 1_048_576;

/** Where recent readers stopped, per segment; saves sequential readers the index. */
export const POSITION_HINTS_PER_SEGMENT = 8;

/** Topic names (Kafka's bound). */
export const MAX_TOPIC_NAME_LENGTH = 249;

/** A file name on all common file systems. */
export const MAX_FILE_NAME_LENGTH = 255;

/** No text file of a log directory is larger; a larger one is not ours. */
export const MAX_TEXT_FILE_BYTES = 268_435_456;

/** The least that a read takes from the file: enough for one usual batch, bytes. */
export const BATCH_READ_AHEAD_BYTES = 4_096;

/** Of an offset map's slot: 16 of the key's hash, 8 of the offset. */
export const OFFSET_MAP_SLOT_BYTES = 24;

/** Keys put into an offset map that are looked up there together. */
export const PUTS_WAITING_MAX = 32;

/** One cleaner thread uses no more for its offset map, bytes (Kafka's bound). */
export const MAX_OFFSET_MAP_BYTES = 2_147_483_647;

/** Places that one error names, at most. */
export const PLACES_NAMED = 10;

/** A cleaner thread that is held back looks this often whether the rate has changed, ms. */
export const THROTTLE_SLICE_MS = 100;

/** A cleaner thread whose pass does not end after being aborted is ended, after ms. */
export const CLEANER_ABORT_MS = 5_000;

/** A cleaner thread that has nothing to do gives its memory back after ms. */
export const CLEANER_THREAD_IDLE_MS = 60_000;

/** How often in a row a cleaner thread that died is started again. */
export const CLEANER_THREAD_RESTARTS = 5;

/** A pass that kills its thread as often makes its partition uncleanable. */
export const DEATHS_PER_PARTITION = 2;

/** A partition whose pass was aborted is left alone for so long, after a failure for the backoff if that is more, ms. */
export const FAILED_PASS_RETRY_MS = 1_000;

/** Logs that are looked at for retention before the event loop gets a turn. */
export const LOGS_PER_TURN = 64;

/** What a cleaner's owner does at one go before its event loop gets a turn, ms. */
export const CLEANER_SLICE_MS = 3;

/** Batch headers are counted in steps of about so many bytes of segment. */
export const COUNT_STEP_BYTES = 1_048_576;

/** Segments that become one in a pass of a running cleaner: its owner renames them in one turn of the event loop. */
export const SEGMENTS_PER_GROUP = 32;

/** The least that a cleaner's read and write buffer have, bytes. */
export const MIN_CLEANER_BUFFER_BYTES = 4_096;

/** Of a dirty section, the offsets of which a cleaner knows by a bit each whether they survive. */
export const MAX_TRACKED_OFFSETS = 67_108_864;

/** Memory that a cleaner keeps for decompressed records; a larger batch gets its own, bytes. */
export const MAX_DECOMPRESSION_ROOM_BYTES = 8_388_608;
