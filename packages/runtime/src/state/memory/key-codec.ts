import { STORE_KEY_INITIAL_BYTES, STORE_KEY_MAX_BYTES } from '../limits.ts';
import { SerializationError } from '../../serdes/serialization-error.ts';
import { isDetached, type RecordSerde } from '../../serdes/serde.ts';

export type MapKey = string | number;

/**
 * A store's keys: their bytes in one reused buffer, and the primitive that the store's map is keyed
 * by, which is the serde's own or else the bytes as a latin1 string.
 */
export class KeyCodec<K> {
  readonly serde: RecordSerde<K>;
  readonly #isDetached: boolean;
  readonly #suffixBytes: number;
  buffer: Buffer;
  /** The key whose bytes stand at the start of `buffer`, if its type cannot be changed in place. */
  #held: K | undefined;
  #heldEnd = -1;

  /** `suffixBytes` is room that is kept free behind the key, for a window's start. */
  constructor(serde: RecordSerde<K>, suffixBytes = 0) {
    this.serde = serde;
    this.#isDetached = isDetached(serde);
    this.#suffixBytes = suffixBytes;
    this.buffer = Buffer.allocUnsafeSlow(STORE_KEY_INITIAL_BYTES);
  }

  /** Writes the key to the start of `buffer`; returns its end. The buffer may be another afterwards. */
  write(key: K): number {
    this.#heldEnd = -1;
    for (;;) {
      const end = this.serde.write(key, this.buffer, 0);
      if (end >= 0 && end + this.#suffixBytes <= this.buffer.length) return end;
      if (this.buffer.length >= STORE_KEY_MAX_BYTES) {
        throw new SerializationError(
          `A key of the serde "${this.serde.name}" is longer than ${String(STORE_KEY_MAX_BYTES)} bytes.`,
        );
      }
      this.buffer = Buffer.allocUnsafeSlow(this.buffer.length * 2);
    }
  }

  /** `write`, whose bytes the same key then finds there. */
  hold(key: K): number {
    if (this.holds(key)) return this.#heldEnd;
    const end = this.write(key);
    if (this.serde.isImmutable === true) {
      this.#held = key;
      this.#heldEnd = end;
    }
    return end;
  }

  /** Whether `hold` was called with this key last, and the buffer was not used since. */
  holds(key: K): boolean {
    return this.#heldEnd >= 0 && Object.is(key, this.#held);
  }

  letGo(): void {
    this.#held = undefined;
    this.#heldEnd = -1;
  }

  /** Writes the bytes of a latin1 string to the start of `buffer`; returns their end. */
  writeLatin1(text: string): number {
    this.#heldEnd = -1;
    if (text.length > this.buffer.length) this.buffer = Buffer.allocUnsafeSlow(text.length);
    return this.buffer.write(text, 0, 'latin1');
  }

  mapKey(key: K): MapKey {
    return this.serde.mapKey === undefined ? this.latin1(key) : this.serde.mapKey(key);
  }

  /** A key that nobody else can change: itself, or a copy if its type can be changed in place. */
  own(key: K): K {
    if (this.serde.isImmutable === true) return key;
    const end = this.write(key);
    return this.read(this.buffer, 0, end);
  }

  /** The key's bytes as a latin1 string: strings in the order of their bytes. */
  latin1(key: K): string {
    const text = this.serde.asciiText?.(key) ?? null;
    if (text !== null) return text;
    const end = this.write(key);
    return this.buffer.toString('latin1', 0, end);
  }

  /** The key of these bytes, given as a latin1 string. */
  fromLatin1(text: string): K {
    const bytes = Buffer.from(text, 'latin1');
    return this.serde.read(bytes, 0, bytes.length);
  }

  /** The key whose bytes stand at `start`, free of that buffer. */
  read(source: Buffer, start: number, end: number): K {
    if (this.#isDetached) return this.serde.read(source, start, end);
    const copy = Buffer.from(source.subarray(start, end));
    return this.serde.read(copy, 0, copy.length);
  }
}
