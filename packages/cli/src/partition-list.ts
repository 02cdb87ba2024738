import type { ClusterTopic } from '@millrace/runtime/cluster';
import { InvalidArgumentError } from 'commander';
import { CommandError } from './errors.ts';

/** `0,2,5-7` */
export function parsePartitions(text: string, before: readonly number[] = []): number[] {
  const partitions = new Set(before);
  for (const part of text.split(',')) {
    const match = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(part.trim());
    const first = Number(match?.[1]);
    const last = Number(match?.[2] ?? match?.[1]);
    if (match === null || last < first) {
      throw new InvalidArgumentError(`'${text}' is no list of partitions such as 0,2 or 0-3.`);
    }
    for (let partition = first; partition <= last; partition++) partitions.add(partition);
  }
  return [...partitions].sort((a, b) => a - b);
}

/** Those that were asked for, or all. @throws CommandError `PARTITION_UNKNOWN` */
export function partitionsOf(topic: ClusterTopic, wanted: readonly number[] | undefined): number[] {
  const all = topic.partitions.map(({ partition }) => partition);
  if (wanted === undefined) return all;
  const missing = wanted.filter((partition) => !all.includes(partition));
  if (missing.length === 0) return [...wanted];
  throw new CommandError(
    'PARTITION_UNKNOWN',
    `Topic ${topic.topic} has no partition ${missing.join(', ')}: it has ${all.length}, from 0 to ${all.length - 1}.`,
  );
}
