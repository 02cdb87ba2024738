/** Texts up to this many bytes are looked up among those read before. */
export const KNOWN_TEXT_MAX_BYTES = 32;
/** How many of them are kept, per process; a power of two. At 32 bytes each they take about 4 MiB. */
export const KNOWN_TEXT_SLOTS = 1 << 16;
