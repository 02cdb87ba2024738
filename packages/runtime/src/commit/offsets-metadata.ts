/** What a committed offset carries beside the offset itself. */
export interface PartitionMetadata {
  /** Highest timestamp taken from the partition, epoch ms; -1 unknown. */
  readonly partitionTime: number;
  /** Store name → close time of the last window that was emitted, epoch ms (KIP-825). */
  readonly emittedWindowCloseTimes: ReadonlyMap<string, number>;
}

const MAGIC_WITHOUT_PROCESSORS = 1;
const MAGIC = 2;
const TIME_END = 9;

export const unknownPartitionMetadata: PartitionMetadata = Object.freeze({
  partitionTime: -1,
  emittedWindowCloseTimes: new Map<string, number>(),
});

/**
 * Kafka Streams' TopicPartitionMetadata: Base64 of magic 2, the partition time, and (only if there is
 * any) a list of store names with their last emitted window close time.
 */
export function encodePartitionMetadata(metadata: PartitionMetadata): string {
  const entries: { name: Buffer; time: number }[] = [];
  let size = TIME_END;
  for (const [name, time] of metadata.emittedWindowCloseTimes) {
    const bytes = Buffer.from(name, 'utf8');
    entries.push({ name: bytes, time });
    size += 4 + bytes.length + 8;
  }
  if (entries.length > 0) size += 4;
  const buffer = Buffer.alloc(size);
  buffer.writeUInt8(MAGIC, 0);
  buffer.writeBigInt64BE(BigInt(metadata.partitionTime), 1);
  if (entries.length > 0) {
    let position = buffer.writeInt32BE(entries.length, TIME_END);
    for (const { name, time } of entries) {
      position = buffer.writeInt32BE(name.length, position);
      position += name.copy(buffer, position);
      position = buffer.writeBigInt64BE(BigInt(time), position);
    }
  }
  return buffer.toString('base64');
}

/** The empty string, a foreign text and a newer magic all mean "unknown": the offset stands without them. */
export function decodePartitionMetadata(text: string): PartitionMetadata {
  const buffer = Buffer.from(text, 'base64');
  if (buffer.length < TIME_END) return unknownPartitionMetadata;
  const magic = buffer.readUInt8(0);
  if (magic !== MAGIC && magic !== MAGIC_WITHOUT_PROCESSORS) return unknownPartitionMetadata;
  const partitionTime = Number(buffer.readBigInt64BE(1));
  const emitted = new Map<string, number>();
  if (magic === MAGIC && !readProcessors(buffer, emitted)) return unknownPartitionMetadata;
  return { partitionTime, emittedWindowCloseTimes: emitted };
}

function readProcessors(buffer: Buffer, into: Map<string, number>): boolean {
  if (buffer.length === TIME_END) return true;
  if (buffer.length < TIME_END + 4) return false;
  const count = buffer.readInt32BE(TIME_END);
  let position = TIME_END + 4;
  for (let i = 0; i < count; i++) {
    if (position + 4 > buffer.length) return false;
    const length = buffer.readInt32BE(position);
    position += 4;
    if (length < 0 || position + length + 8 > buffer.length) return false;
    const name = buffer.toString('utf8', position, position + length);
    position += length;
    into.set(name, Number(buffer.readBigInt64BE(position)));
    position += 8;
  }
  return true;
}
