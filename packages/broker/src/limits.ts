/** Every bound of the broker that is not a Kafka configuration. The unit is the last word of the name. */

/** Bytes read from a socket at most while its request waits for an earlier one of the same connection. */
export const PIPELINED_REQUEST_BYTES = 8 * 1024 * 1024;

/** What a waiting request counts for beside its bytes: empty frames cost memory, too. */
export const PIPELINED_REQUEST_OVERHEAD_BYTES = 128;

/** Answers waiting in one connection's socket before no further request of it is taken up. */
export const OUTGOING_QUEUE_BYTES = 1024 * 1024;

/** Answers that clients have not taken, over all connections, before fetches get smaller ones. */
export const RESPONSE_QUEUE_BYTES = 256 * 1024 * 1024;

/** A large request that stands still for this long, while others wait for its memory, is given up. */
export const STALLED_REQUEST_MS = 10_000;

/** A frame's first buffer: grown only as its bytes arrive, so that a stated length alone costs nothing. */
export const FRAME_FIRST_ALLOCATION_BYTES = 1024 * 1024;

/** A clean stop: connections get this long to take their last answers. */
export const STOP_DRAIN_MS = 1_000;

/** A clean stop of the worker thread before it is ended by force. */
export const WORKER_STOP_MS = 30_000;

/** How often idle and stalled connections are looked for. */
export const CONNECTION_SWEEP_INTERVAL_MS = 5_000;

/** Idle TCP connections are probed after this, so that a vanished peer is noticed. */
export const TCP_KEEP_ALIVE_MS = 60_000;

/** One line on the admin socket. */
export const ADMIN_LINE_BYTES = 1024 * 1024;

/** Connections to the admin socket at one time. */
export const ADMIN_CONNECTIONS = 16;

/** Linux's `sun_path` with its closing zero byte; a longer path cannot be bound. */
export const UNIX_SOCKET_PATH_BYTES = 107;

/** Producer ids that are reserved on disk at one time, as Kafka's block. */
export const PRODUCER_ID_BLOCK_SIZE = 1000;

/** A message in an answer, which may name what the request named; the protocol ends at 32767 bytes. */
export const ERROR_MESSAGE_CHARACTERS = 2_000;

/** Topic names, Kafka's bound: directory names add partition and suffix. */
export const TOPIC_NAME_CHARACTERS = 249;

/** Partitions of one request that are appended to, or searched, before the event loop gets a turn. */
export const PARTITIONS_PER_TURN = 200;

/** Logs that are made before the event loop gets a turn. */
export const LOGS_PER_TURN = 16;

/** Partitions that one request may make, Kafka's bound, and that one topic may have: each costs open files. */
export const PARTITIONS_PER_REQUEST = 10_000;

/** Names that a "did you mean" looks at are cut to this, so that a hostile key costs little. */
export const SUGGESTION_INPUT_CHARACTERS = 128;

/** A repeated storage error is logged again after this. */
export const STORAGE_ERROR_LOG_MS = 10_000;

/** Fetches parked at one time over all connections; above it they are answered at once. */
export const PARKED_FETCHES = 100_000;

/** Partitions in one page of DescribeTopicPartitions, Kafka's max.request.partition.size.limit. */
export const DESCRIBED_PARTITIONS = 2000;

/** The longest answer that is read from an admin socket. */
export const ADMIN_ANSWER_BYTES = 64 * 1024 * 1024;

/** Wait for an admin socket's answer. */
export const ADMIN_ANSWER_MS = 30_000;

/** log.cleaner.dedupe.buffer.size must be larger for each thread, Kafka's bound. */
export const LEAST_DEDUPE_BYTES_PER_THREAD = 1024 * 1024;

/** segment.bytes of a topic, Kafka's lower bound. */
export const LEAST_SEGMENT_BYTES = 1024 * 1024;
