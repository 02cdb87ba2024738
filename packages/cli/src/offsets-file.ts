import { readFileSync } from 'node:fs';
import { topicPartitionKey, type TopicPartitionKey } from '@millrace/runtime/cluster';
import { CommandError, messageOf } from './errors.ts';

const LINE = /^([^,]+),(\d{1,9}),(\d{1,19})$/;

/**
 * Lines of `topic,partition,offset`, as Kafka's tools write and read them; empty lines do not count.
 *
 * @throws CommandError `INPUT_INVALID` that names the line
 */
export function readOffsetsFile(path: string): ReadonlyMap<TopicPartitionKey, bigint> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new CommandError('INPUT_INVALID', `${path} cannot be read: ${messageOf(error)}`, {
      cause: error,
    });
  }
  return parseOffsets(text, path);
}

export function parseOffsets(text: string, path: string): ReadonlyMap<TopicPartitionKey, bigint> {
  const offsets = new Map<TopicPartitionKey, bigint>();
  for (const [i, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '') continue;
    const [, topic = '', partition = '', offset = ''] = LINE.exec(line.trim()) ?? [];
    if (topic === '') {
      throw new CommandError(
        'INPUT_INVALID',
        `Line ${i + 1} of ${path} is no topic,partition,offset such as orders,0,42: ${line}`,
      );
    }
    const key = topicPartitionKey(topic, Number(partition));
    if (offsets.has(key)) {
      throw new CommandError('INPUT_INVALID', `Line ${i + 1} of ${path} names ${key} again.`);
    }
    offsets.set(key, BigInt(offset));
  }
  if (offsets.size > 0) return offsets;
  throw new CommandError('INPUT_INVALID', `${path} has no line of topic,partition,offset.`);
}
