import type { GroupProgress } from '@millrace/runtime';

/** How far a group has come in a topic, over all its partitions. */
export interface TopicProgress {
  /** Records up to the committed offsets, counted from offset 0. */
  readonly committed: number;
  /** Records up to the end. */
  readonly end: number;
  readonly isAtEnd: boolean;
}

/** A topic that does not exist (yet) has no end to be at. */
export async function topicProgress(group: GroupProgress, topic: string): Promise<TopicProgress> {
  const partitions = await group.of(topic);
  if (partitions === null) return { committed: 0, end: 0, isAtEnd: false };
  let committed = 0n;
  let end = 0n;
  for (const partition of partitions) {
    committed += partition.committedOffset ?? 0n;
    end += partition.endOffset;
  }
  return {
    committed: Number(committed),
    end: Number(end),
    isAtEnd: partitions.every(({ isAtEnd }) => isAtEnd),
  };
}
