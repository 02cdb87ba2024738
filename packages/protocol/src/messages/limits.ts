/** Longest string of a message, in bytes of UTF-8; the compact form could be longer, Kafka's is not. */
export const MAX_STRING_BYTES = 32_767;

/** From this many bytes on, `bytes` and `records` are passed on as chunks of their own, not copied. */
export const MIN_CHUNK_BYTES = 1024;

/** Largest frame that the 4-byte size in front of it can announce, in bytes. */
export const MAX_FRAME_BYTES = 2_147_483_647;
