/**
 * Bytes that do not follow the protocol, or cannot be turned into it. `code` is stable and
 * documented; the message says what was read, where, and what to do.
 */
export class ProtocolError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** A field would reach past the end of its frame. */
export class TruncatedError extends ProtocolError {
  constructor(message: string) {
    super('PROTOCOL_TRUNCATED', message);
  }
}

/** A length, count or varint that cannot be right. */
export class InvalidLengthError extends ProtocolError {
  constructor(message: string) {
    super('PROTOCOL_INVALID_LENGTH', message);
  }
}

/** A value that the wire format cannot carry: the caller's mistake, not the peer's. */
export class InvalidValueError extends ProtocolError {
  constructor(message: string) {
    super('PROTOCOL_INVALID_VALUE', message);
  }
}

/** A record batch whose CRC, lengths, varints or counts contradict each other. */
export class CorruptRecordError extends ProtocolError {
  constructor(message: string, options?: ErrorOptions, code = 'PROTOCOL_CORRUPT_RECORD') {
    super(code, message, options);
  }
}

/** A message set of magic 0 or 1 (before Kafka 0.11), or of a magic not known yet. */
export class UnsupportedMagicError extends CorruptRecordError {
  readonly magic: number;

  constructor(magic: number, message: string) {
    super(message, undefined, 'PROTOCOL_UNSUPPORTED_MAGIC');
    this.magic = magic;
  }
}

/** The codec bits of a batch name no codec that Kafka knows. */
export class UnsupportedCodecError extends ProtocolError {
  readonly codecId: number;

  constructor(codecId: number, message: string) {
    super('PROTOCOL_UNSUPPORTED_CODEC', message);
    this.codecId = codecId;
  }
}

/** Found before decoding: the data would decompress to more than the caller allows. */
export class DecompressedTooLargeError extends ProtocolError {
  constructor(message: string, options?: ErrorOptions) {
    super('PROTOCOL_DECOMPRESSED_TOO_LARGE', message, options);
  }
}

/** A single record, or batch, that no batch can hold. */
export class BatchTooLargeError extends ProtocolError {
  constructor(message: string) {
    super('PROTOCOL_BATCH_TOO_LARGE', message);
  }
}
