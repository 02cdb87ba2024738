/** Longest string of a message, in bytes of UTF-8; the compact form could be longer, Kafka's is not. */
export const MAX_STRING_BYTES = 32_767;

/** From this many bytes on, `bytes` and `records` are passed on as chunks of their own, not copied. */
export const MIN_CHUNK_BYTES = 1024;

/**
 * Elements of all arrays of a request together. An element of a few bytes becomes an object of a hundred
 * or more: without a bound, a frame of the size that records need would take many times its memory.
 */
export const MAX_REQUEST_ELEMENTS = 100_000;

/** Largest frame that the 4-byte size in front of it can announce, in bytes. */
export const MAX_FRAME_BYTES = 2_147_483_647;
