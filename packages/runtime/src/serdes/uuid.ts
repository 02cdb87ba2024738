import { recordSerde } from './record-serde.ts';
import type { RecordSerde } from './serde.ts';
import { SerializationError, describeValue, outOfRange, wrongType } from './serialization-error.ts';
import { readUtf8, writeUtf8 } from './string.ts';

const UUID_CHARS = 36;
const CANONICAL = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** Java also reads parts that are too short or too long, and a sign; of the latter it keeps the last digits. */
const LENIENT = /^\+?([0-9a-f]+)-\+?([0-9a-f]+)-\+?([0-9a-f]+)-\+?([0-9a-f]+)-\+?([0-9a-f]+)$/;
const PART_CHARS = [8, 4, 4, 4, 12];
const INT64_MAX = 2n ** 63n - 1n;

/**
 * Kafka's `UUIDSerializer`: the 36 characters of the canonical form, in lower case. Reads what
 * Java's `UUID.fromString` does, so `1-1-1-1-1` is a UUID, too.
 */
export const uuidSerde: RecordSerde<string> = recordSerde<string>({
  name: 'uuid',
  write: (value, target, position) => writeUtf8(canonicalUuid(value), target, position),
  read(source, start, end) {
    const text = readUtf8(source, start, end).toLowerCase();
    if (CANONICAL.test(text)) return text;
    const completed = completedUuid(text);
    if (completed === null) {
      throw new SerializationError(
        `The serde "uuid" reads a UUID, but got ${describeValue(text)}.`,
      );
    }
    return completed;
  },
  maxBytes: () => UUID_CHARS,
  isImmutable: true,
  fixedBytes: UUID_CHARS,
  mapKey: canonicalUuid,
});

function canonicalUuid(value: string): string {
  if (typeof value !== 'string') throw wrongType('uuid', 'UUIDs of 36 characters', value);
  const text = value.toLowerCase();
  if (!CANONICAL.test(text)) throw outOfRange('uuid', 'UUIDs of 36 characters', value);
  return text;
}

function completedUuid(text: string): string | null {
  if (text.length > UUID_CHARS) return null;
  const parts = LENIENT.exec(text)?.slice(1);
  if (parts === undefined || parts.some((part) => BigInt(`0x${part}`) > INT64_MAX)) return null;
  return parts
    .map((part, i) => part.slice(-(PART_CHARS[i] as number)).padStart(PART_CHARS[i] as number, '0'))
    .join('-');
}
