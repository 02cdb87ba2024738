/** A stop that takes longer is ended by force. */
export const STOP_DEADLINE_MS = 30_000;

/** Wait for a broker that was told to stop to be gone. */
export const STOP_WAIT_MS = 40_000;

/** Between two looks at whether it is gone. */
export const STOP_POLL_MS = 50;
