import type { Admin } from 'kafkajs';

/** How far a group has come in a topic, over all its partitions. */
export interface TopicProgress {
  /** Offsets that are committed, counted from the beginning of the log. */
  readonly committed: number;
  readonly end: number;
  readonly isAtEnd: boolean;
}

/** A group's committed offsets against the ends of the logs that it reads. */
export class GroupProgress {
  readonly #admin: Admin;
  readonly #groupId: string;

  constructor(admin: Admin, groupId: string) {
    this.#admin = admin;
    this.#groupId = groupId;
  }

  /** All zero for a topic that does not exist (yet). */
  async of(topic: string): Promise<TopicProgress> {
    if (!(await this.#admin.listTopics()).includes(topic)) {
      return { committed: 0, end: 0, isAtEnd: false };
    }
    // In this order: a log may grow meanwhile, and then the group is not at its end.
    const [committed] = await this.#admin.fetchOffsets({ groupId: this.#groupId, topics: [topic] });
    const ends = await this.#admin.fetchTopicOffsets(topic);
    const offsets = new Map(
      (committed?.partitions ?? []).map(({ partition, offset }) => [partition, BigInt(offset)]),
    );
    let sum = 0n;
    let end = 0n;
    let isAtEnd = true;
    for (const { partition, high } of ends) {
      const offset = offsets.get(partition) ?? -1n;
      if (offset > 0n) sum += offset;
      end += BigInt(high);
      if (offset < BigInt(high) && BigInt(high) > 0n) isAtEnd = false;
    }
    return { committed: Number(sum), end: Number(end), isAtEnd };
  }
}
