import { describe, expect, it } from 'vitest';
import type { TaskId } from '../operators/task-context.ts';
import { taskName } from '../tasks/task-id.ts';
import type { AssignorMember } from './assignor.ts';
import { assignTasks } from './assignor.ts';

function tasks(subtopologies: number, partitions: number): TaskId[] {
  return Array.from({ length: subtopologies * partitions }, (_, i) => ({
    subtopology: Math.floor(i / partitions),
    partition: i % partitions,
  }));
}

function member(
  memberId: string,
  activeTasks: readonly TaskId[] = [],
  generation = 1,
): AssignorMember {
  return { memberId, processId: 'p', generation, activeTasks };
}

function names(assignment: ReadonlyMap<string, readonly TaskId[]>): Record<string, string[]> {
  return Object.fromEntries([...assignment].map(([id, list]) => [id, list.map(taskName)]));
}

function moved(
  before: ReadonlyMap<string, readonly TaskId[]>,
  after: ReadonlyMap<string, readonly TaskId[]>,
): number {
  const owners = new Map([...before].flatMap(([id, list]) => list.map((t) => [taskName(t), id])));
  return [...after]
    .flatMap(([id, list]) => list.map((t) => [taskName(t), id] as const))
    .filter(([name, id]) => owners.get(name) !== id).length;
}

describe('assignTasks', () => {
  it('gives everything to one member', () => {
    expect(names(assignTasks(tasks(1, 3), [member('a')]))).toEqual({ a: ['0_0', '0_1', '0_2'] });
  });

  it('spreads tasks, and each subtopology as well', () => {
    const assignment = assignTasks(tasks(2, 4), [member('a'), member('b')]);
    for (const list of assignment.values()) {
      expect(list).toHaveLength(4);
      expect(list.filter((t) => t.subtopology === 0)).toHaveLength(2);
    }
  });

  it('assigns every task exactly once, evenly, for many sizes', () => {
    for (let members = 1; members <= 7; members++) {
      for (let partitions = 0; partitions <= 9; partitions++) {
        const all = tasks(3, partitions);
        const group = Array.from({ length: members }, (_, i) => member(`m${String(i)}`));
        const assignment = assignTasks(all, group);
        const given = [...assignment.values()].flat().map(taskName).sort();
        expect(given).toEqual(all.map(taskName).sort());
        const sizes = [...assignment.values()].map((list) => list.length);
        expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
      }
    }
  });

  it('moves only what it must when a member joins', () => {
    const before = assignTasks(tasks(2, 6), [member('a'), member('b')]);
    const after = assignTasks(tasks(2, 6), [
      ...[...before].map(([id, list]) => member(id, list)),
      member('c', [], -1),
    ]);
    expect(moved(before, after)).toBe(4);
  });

  it('moves only the tasks of the member that left', () => {
    const group = ['a', 'b', 'c', 'd'].map((id) => member(id));
    const before = assignTasks(tasks(1, 12), group);
    const left = [...before].filter(([id]) => id !== 'd').map(([id, list]) => member(id, list));
    expect(moved(before, assignTasks(tasks(1, 12), left))).toBe(3);
  });

  it('changes nothing when nothing changed', () => {
    const before = assignTasks(tasks(3, 5), [member('a'), member('b')]);
    const after = assignTasks(
      tasks(3, 5),
      [...before].map(([id, list]) => member(id, list)),
    );
    expect(moved(before, after)).toBe(0);
  });

  it('believes the later generation when two members claim a task', () => {
    const claimed = [{ subtopology: 0, partition: 0 }];
    const assignment = assignTasks(tasks(1, 2), [
      member('old', claimed, 3),
      member('new', claimed, 4),
    ]);
    expect(names(assignment)['new']).toEqual(['0_0']);
  });

  it('ignores claims on tasks that no longer exist', () => {
    const assignment = assignTasks(tasks(1, 1), [member('a', [{ subtopology: 7, partition: 7 }])]);
    expect(names(assignment)).toEqual({ a: ['0_0'] });
  });

  it('gives the same answer in whatever order members and tasks come', () => {
    const group = [member('c'), member('a'), member('b')];
    const one = names(assignTasks(tasks(2, 5), group));
    const two = names(assignTasks(tasks(2, 5).reverse(), [...group].reverse()));
    expect(two).toEqual(one);
  });
});
