/** Every bound of this package, with its unit. */

/** Bytes: `batchLength` is an int32, so no batch is longer than this. */
export const MAX_BATCH_BYTES = 0x7fffffff;

/**
 * Bytes: default bound on what one compressed batch may decompress to. It is checked before
 * decoding, so that a small batch cannot take the process down. Whoever really has larger batches
 * passes a larger bound to the cursor.
 */
export const MAX_DECOMPRESSED_BATCH_BYTES = 256 * 1024 * 1024;

/** Bytes: a record with empty key, value and headers still has its seven one-byte fields. */
export const MIN_RECORD_BYTES = 7;

/** Bytes: a header with an empty key and a null value. */
export const MIN_HEADER_BYTES = 2;

/** Bytes: where a batch builder starts when it is not told. */
export const DEFAULT_BATCH_INITIAL_BYTES = 16 * 1024;

/** Bytes: where a Writer starts when it is not told. */
export const DEFAULT_WRITER_INITIAL_BYTES = 256;

/** Bytes: a 32-bit varint. */
export const MAX_VARINT_BYTES = 5;

/** Bytes: a 64-bit varint. */
export const MAX_VARLONG_BYTES = 10;

/** Bytes of input per block in the xerial framing of snappy, the Java library's default. */
export const SNAPPY_BLOCK_BYTES = 32 * 1024;

/** Bytes out per byte in: deflate's best. */
export const GZIP_MAX_EXPANSION = 1032;

/** Bytes out per byte in: no snappy element expands further (a 3-byte copy yields 64 bytes). */
export const SNAPPY_MAX_EXPANSION = 22;

/** Bytes of input per block in lz4 frames, as Kafka's Java clients have it. */
export const LZ4_BLOCK_BYTES = 64 * 1024;

/** Bytes out per byte in: no lz4 sequence expands further. */
export const LZ4_MAX_EXPANSION = 255;

/** Bytes: no zstd block regenerates more, whatever its window. */
export const ZSTD_MAX_BLOCK_BYTES = 128 * 1024;

/** Bytes: inputs shorter than this go through the table in JavaScript; a native call costs more. */
export const NATIVE_CRC_MIN_BYTES = 112;
