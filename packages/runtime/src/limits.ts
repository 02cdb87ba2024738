/** Every bound of the runtime that is not a Kafka configuration, with its unit in its name. */

/**
 * Longest time that a stream thread processes before it yields to the event loop, ms. Reached only
 * while there is a backlog; longer slices make fewer and larger batches, shorter ones serve sockets
 * and timers of the same process sooner.
 */
export const PROCESS_SLICE_MAX_MS = 40;
/** Records that one task processes before it is looked whether its turn is over. */
export const TASK_SLICE_MAX_RECORDS = 256;
/** ... when it begins, before it is known how long they take. */
export const TASK_SLICE_FIRST_RECORDS = 8;
/** Time after which it should be looked again, ms. */
export const TASK_SLICE_TARGET_MS = 10;
/** Records that one task processes before the next task has its turn. */
export const TASK_TURN_MAX_RECORDS = 8_192;
/**
 * Bytes of raw batches that the queues of a stream thread share. Each holds its share, twice that if
 * these are few records, and what one more fetch brings, which asks for a share at most.
 */
export const INPUT_BUFFER_MAX_BYTES = 64 * 1024 * 1024;
/** Least and largest part of it that one queue may fill, bytes. */
export const QUEUE_SHARE_MIN_BYTES = 64 * 1024;
export const QUEUE_SHARE_MAX_BYTES = 2 * 1024 * 1024;
/**
 * Largest answer to a fetch of input partitions, bytes: three are in memory at a time. A smaller one is processed
 * before the next has come, a larger one costs memory and is hardly faster.
 */
export const INPUT_FETCH_MAX_BYTES = 3 * 1024 * 1024;

/** First size of the buffer into which a task's keys are serialized, bytes. */
export const KEY_SCRATCH_INITIAL_BYTES = 4 * 1024;
/** Longest serialized key, bytes; a record cannot be longer either. */
export const KEY_SCRATCH_MAX_BYTES = 1024 * 1024 * 1024;
/** First size of the buffer for a value whose length is not known, bytes. */
export const SERIALIZED_INITIAL_BYTES = 256;
/** Longest value that is serialized outside the record path, bytes. */
export const SERIALIZED_MAX_BYTES = 1024 * 1024 * 1024;
/** Problems of a value that a validator's error names; more are only counted. */
export const SHOWN_ISSUES_MAX = 5;
/** Records without a key go to one partition until so many have gone there; then to the next. */
export const STICKY_PARTITION_RECORDS = 512;

/** Longest time that restoring takes of one pass of the loop, ms. */
export const RESTORE_SLICE_MAX_MS = 8;
/** Changelog records that one partition applies before the next has its turn. */
export const RESTORE_SLICE_RECORDS = 1_024;
/** Changelog records after which it is looked whether the time is over: a store may be slow. */
export const RESTORE_LOOK_RECORDS = 32;
/** Records of one global topic's partition that are applied before the next has its turn, and it is looked whether the time is over. */
export const GLOBAL_SLICE_RECORDS = 64;
/** Fetched bytes of global topics after which what was applied is committed, however short ago the last commit is. */
export const GLOBAL_COMMIT_BYTES = 4 * 1024 * 1024;
/** Raw changelog bytes that may wait in one partition before its fetching pauses. */
export const RESTORE_BUFFER_MAX_BYTES = 16 * 1024 * 1024;
/** Asked of each changelog partition in one fetch, bytes. */
export const RESTORE_FETCH_PARTITION_BYTES = 4 * 1024 * 1024;
/** Distance of two progress reports of one changelog partition, ms. */
export const RESTORE_PROGRESS_INTERVAL_MS = 1_000;

/** Least distance at which the cluster is asked for all its topics, ms; only sources by pattern need that. */
export const TOPIC_REFRESH_MIN_MS = 100;
/** How often an internal topic that was there and is gone is looked for before the application stops ... */
export const GONE_TOPIC_LOOKS = 5;
/** ... and the distance of two looks, ms. */
export const GONE_TOPIC_LOOK_DISTANCE_MS = 500;
/** Stream threads that failed and are replaced, within the window; one more ends the client. */
export const THREAD_REPLACEMENTS_MAX = 10;
export const THREAD_REPLACEMENTS_WINDOW_MS = 10 * 60_000;
/** Wait before the second replacement within the window, ms; doubled for each one after that, up to the maximum. */
export const THREAD_REPLACEMENT_BACKOFF_MS = 100;
export const THREAD_REPLACEMENT_BACKOFF_MAX_MS = 10_000;
/** Of the reason with which one instance stops all of them, characters. */
export const SHUTDOWN_REASON_MAX_CHARS = 2_000;
/** How long stream threads wait until the group has told all members to stop; then their client stops alone, ms. */
export const SHUTDOWN_TELL_MAX_MS = 30_000;
/** How long a member that was told to stop stays in the group for others to be told, ms. */
export const SHUTDOWN_LINGER_MS = 1_000;

/** A turn of a task, or a punctuator, that holds up the event loop for as long as this is reported, ms. */
export const BLOCKED_LOOP_MS = 1_000;
/** Least distance of two such reports of one task, ms; those in between are counted. */
export const BLOCKED_LOOP_REPORT_INTERVAL_MS = 60_000;

/** Wait before something that timed out is tried again, ms. */
export const RETRY_BACKOFF_MS = 100;
/** The wait before a task is begun anew doubles with each failure, up to this, ms. */
export const RETRY_BACKOFF_MAX_MS = 1_000;
/** A task that has run for so long, and for `task.timeout.ms`, is over its former failures, ms. */
export const TASK_RECOVERED_MIN_MS = 60_000;

/** Least length of a window of metrics, ms; `metrics.sample.window.ms` may be 0. */
export const METRICS_WINDOW_MIN_MS = 100;
/** Distance of two looks at how late the event loop is, ms. */
export const EVENT_LOOP_LOOK_INTERVAL_MS = 20;

/** Largest user data of a group member that is decoded, bytes. */
export const USER_DATA_MAX_BYTES = 4 * 1024 * 1024;
/** Edit distance up to which a configuration name is suggested. */
export const SUGGESTION_MAX_DISTANCE = 8;
/** The same for keys of TLS and SASL: most that are not known belong into a Kafka instance. */
export const SECURITY_SUGGESTION_MAX_DISTANCE = 2;
/** Client tags, Kafka's bounds: how many, and characters of a key and of a value. */
export const CLIENT_TAGS_MAX_COUNT = 5;
export const CLIENT_TAG_KEY_MAX_CHARS = 20;
export const CLIENT_TAG_VALUE_MAX_CHARS = 30;
/** Default bound of `close()`, ms; without one a stream thread that hangs would hang its caller. */
export const CLOSE_TIMEOUT_DEFAULT_MS = 60_000;

/** Size at which a batch of a topic writer is sent, bytes. */
export const TOPIC_WRITER_BATCH_BYTES = 256 * 1024;
/** Bytes that may wait in a topic writer before its user should pause. */
export const TOPIC_WRITER_BUFFER_BYTES = 32 * 1024 * 1024;
/** `delivery.timeout.ms` of a topic writer, which is Kafka's default, ms. */
export const TOPIC_WRITER_DELIVERY_TIMEOUT_MS = 120_000;
/** Asked of each partition in one fetch of a topic reader, bytes. */
export const TOPIC_READER_FETCH_BYTES = 4 * 1024 * 1024;
/** Longest wait of a topic reader's parked fetch, ms. */
export const TOPIC_READER_MAX_WAIT_MS = 500;
/** Longest time that a topic reader's connections take to end, ms. */
export const TOPIC_READER_CLOSE_TIMEOUT_MS = 2_000;
/** By this factor the search for a partition's last record goes further back each time. */
export const LAST_RECORDS_STEP = 64n;
/** Session of a group member that only asks for offsets, ms; it joins nothing, so nothing depends on it. */
export const GROUP_PROGRESS_SESSION_MS = 45_000;
/** Wait for another thread of the client to close a task's state, ms; then it is tried again later. */
export const TASK_STATE_WAIT_MAX_MS = 5_000;
/** State of tasks that are gone is looked for no more often than this, ms. */
export const CLEAN_UP_INTERVAL_MIN_MS = 1_000;
