import type { Clock } from '@millrace/compaction';
import { Group } from './group.ts';
import { GROUPS } from './limits.ts';

/** All groups of this broker by id; a group that is not in it is Dead. */
export class GroupTable {
  readonly #clock: Clock;
  readonly #groups = new Map<string, Group>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get(groupId: string): Group | undefined {
    return this.#groups.get(groupId);
  }

  get isFull(): boolean {
    return this.#groups.size >= GROUPS;
  }

  /** The limit is the caller's to look at: what was stored before a restart is taken in whole. */
  getOrCreate(groupId: string): Group {
    let group = this.#groups.get(groupId);
    if (group === undefined) {
      group = new Group(groupId, this.#clock);
      this.#groups.set(groupId, group);
    }
    return group;
  }

  remove(group: Group): void {
    group.cancelTimers();
    group.transition('removed');
    if (this.#groups.get(group.groupId) === group) this.#groups.delete(group.groupId);
  }

  all(): IterableIterator<Group> {
    return this.#groups.values();
  }
}
