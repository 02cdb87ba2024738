/** A stop that takes longer is ended by force. */
export const STOP_DEADLINE_MS = 30_000;

/** Wait for a broker that was told to stop to be gone. */
export const STOP_WAIT_MS = 40_000;

/** Between two looks at whether it is gone. */
export const STOP_POLL_MS = 50;

/** Default of --timeout: how long a command may wait for the brokers, ms. */
export const TIMEOUT_DEFAULT_MS = 30_000;

/** Longest wait for connections to end once a command is done, ms. */
export const CLOSE_TIMEOUT_MS = 5_000;

/** Of an unknown name, so much is compared with known ones, characters. */
export const SUGGESTION_CHARACTERS = 256;

/** Names that are listed in an error, at most. */
export const NAMES_LISTED = 10;

/** A line of input is no longer than this, bytes. */
export const INPUT_LINE_BYTES = 64 * 1024 * 1024;

/** Records that are written to the output at once, at most. */
export const OUTPUT_CHUNK_RECORDS = 1_000;

/** Kinds of failure that are told apart when records are not acknowledged. */
export const FAILURES_LISTED = 5;

/** Between two looks at whether the members that were removed from a group are gone, ms. */
export const GROUP_POLL_MS = 200;

/** Between two lines that tell how far `clean` is, ms. */
export const PROGRESS_INTERVAL_MS = 5_000;
