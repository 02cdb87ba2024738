/** Bounds of the client. Where Kafka has a config for it, the default is Kafka's and named. */

/** `request.timeout.ms`: longest wait for one answer. */
export const REQUEST_TIMEOUT_MS = 30_000;
/** `default.api.timeout.ms`: longest time that one call may spend on retries. */
export const API_TIMEOUT_MS = 60_000;
/** `metadata.max.age.ms`: older metadata is asked for again when it is next used. */
export const METADATA_MAX_AGE_MS = 300_000;
/** `retry.backoff.ms` and `retry.backoff.max.ms`; the wait doubles from one to the other, with jitter. */
export const RETRY_BACKOFF_MIN_MS = 100;
export const RETRY_BACKOFF_MAX_MS = 1_000;
export const RETRY_BACKOFF_JITTER = 0.2;
/** First wait for a partition's leader: offsets are most often asked of changelogs that were made a moment ago. */
export const NEW_LEADER_BACKOFF_MIN_MS = 20;
/** `socket.connection.setup.timeout.ms`: for a config that sets none. */
export const CONNECTION_TIMEOUT_MS = 10_000;
/** Failures of one kind in a row after which it is worth a line at warn; once per outage. */
export const FAILURES_BEFORE_WARNING = 10;
/** Partitions fail together: one line at warn for all of them, not more often than this. */
export const OUTAGE_WARNING_INTERVAL_MS = 60_000;

/** Longest wait of a fetch that leaves out a paused partition of the same broker. */
export const FETCH_WITH_PAUSED_MAX_WAIT_MS = 10;
/** Longest wait of a fetch that goes beside a parked one, for partitions that came later. */
export const SIDE_FETCH_MAX_WAIT_MS = 10;
/** How long a call waits for a topic that no broker knows, which may just have been created. */
export const MISSING_TOPIC_ANSWER_MS = 5_000;
/** How long a fetched topic may be unknown to the brokers before its partitions end with an error. */
export const MISSING_TOPIC_GRACE_MS = 30_000;
/** A part of a response is copied when it would keep alive more than this many times its own size ... */
export const PINNED_RESPONSE_RATIO_MAX = 16;
/** ... of a response of at least this size. */
export const PINNED_RESPONSE_BYTES_MIN = 1024 * 1024;
/** Largest batch that the fetcher raises a partition's limit to when a broker cuts it. */
export const FETCHED_BATCH_BYTES_MAX = 512 * 1024 * 1024;
/** Distance at which the fetcher looks for partitions that are not fetched although they should be, ms. */
export const FETCH_WATCH_INTERVAL_MS = 10_000;
/** Least time without any answer about a partition after which it is fetched anew, and a warning says so, ms. */
export const FETCH_STALLED_MIN_MS = 60_000;
/** Largest response that is taken from a broker: a fetch of the largest batch, and what goes with it. */
export const RESPONSE_BYTES_MAX = FETCHED_BATCH_BYTES_MAX + 64 * 1024 * 1024;

/** Produce requests under way to one broker, and batches under way for one partition: what a broker remembers. */
export const PRODUCE_REQUESTS_IN_FLIGHT_MAX = 5;
/** `max.request.size`: larger records are refused, larger requests are split. */
export const PRODUCE_REQUEST_BYTES_MAX = 1024 * 1024;
/** Memory that empty batch builders may hold for reuse. */
export const POOLED_BUILDER_BYTES_MAX = 32 * 1024 * 1024;
/** A batch grows to this beyond `batch.size` while another of its partition waits to be sent, bytes. */
export const GROWN_BATCH_BYTES = 256 * 1024;
/** First size of a batch builder; it grows to what its batches need. */
export const BUILDER_INITIAL_BYTES = 4 * 1024;
/** A sequence is an int32; a new producer id is taken before it would wrap. */
export const SEQUENCE_MAX = 0x7fffffff;

/** What a JoinGroup may take beyond the rebalance timeout. */
export const JOIN_TIMEOUT_MARGIN_MS = 5_000;
/** A member that finds no working coordinator for this long gives up. */
export const COORDINATOR_MISSING_MAX_MS = 600_000;

/** Polls for a created topic to be seen with its leaders. */
export const TOPIC_VISIBLE_POLL_MS = 20;
/** Memory that a plain connection reads into, again and again, bytes. */
export const SOCKET_READ_BYTES = 64 * 1024;
/** Silence after which the system asks whether the other end is still there, ms; kafkajs's own. */
export const SOCKET_KEEP_ALIVE_MS = 60_000;
/** Responses from this size on are put into memory that is used again, of this size or twice, four times ... it. */
export const RESPONSE_MEMORY_STEP_BYTES = 256 * 1024;
/** Memory of responses that one fetcher or producer keeps to be used again, bytes. */
export const RESPONSE_MEMORY_POOL_BYTES = 32 * 1024 * 1024;

/** `max.block.ms`: what beginning, committing or aborting a transaction may take, retries included. */
export const MAX_BLOCK_MS = 60_000;
/** `transaction.timeout.ms`: how long the coordinator leaves a transaction open. */
export const TRANSACTION_TIMEOUT_MS = 60_000;
/** First wait when a new transaction's first request meets the end of the one before; doubles up to ... */
export const CONCURRENT_TRANSACTIONS_BACKOFF_MIN_MS = 20;
export const CONCURRENT_TRANSACTIONS_BACKOFF_MAX_MS = 100;
