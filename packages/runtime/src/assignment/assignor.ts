import type { TaskId } from '../operators/task-context.ts';
import type { TaskName } from '../tasks/task-id.ts';
import { compareTaskIds, taskName } from '../tasks/task-id.ts';

/** The group protocol's name: a group of Java members refuses us, and we refuse them, before any harm. */
export const ASSIGNMENT_PROTOCOL = 'millrace-streams';

export interface AssignorMember {
  readonly memberId: string;
  readonly processId: string;
  readonly generation: number;
  readonly activeTasks: readonly TaskId[];
}

/** A member while tasks are handed out. */
interface Candidate {
  readonly member: AssignorMember;
  readonly tasks: TaskId[];
  readonly perSubtopology: Map<number, number>;
}

/**
 * Spreads the tasks over the members: no member has more than one task above another, the tasks of a
 * subtopology are spread as well (one of them may be much heavier than another), and among what is
 * then possible as many tasks as possible stay where they are.
 *
 * Deterministic: the same members and tasks give the same answer, in whatever order they come.
 */
export function assignTasks(
  tasks: readonly TaskId[],
  members: readonly AssignorMember[],
): Map<string, TaskId[]> {
  const candidates = [...members]
    .sort((a, b) => compareStrings(a.memberId, b.memberId))
    .map((member): Candidate => ({ member, tasks: [], perSubtopology: new Map() }));
  if (candidates.length === 0) return new Map();
  const sorted = [...tasks].sort(compareTaskIds);
  const unassigned = keepOwned(sorted, candidates);
  for (const task of unassigned) give(task, leastLoaded(candidates, task.subtopology));
  return new Map(
    candidates.map(({ member, tasks: own }) => [member.memberId, own.sort(compareTaskIds)]),
  );
}

/** Lets members keep what they own, up to their share; returns what is left over. */
function keepOwned(sorted: readonly TaskId[], candidates: readonly Candidate[]): TaskId[] {
  const owners = findOwners(sorted, candidates);
  const owned = new Map<Candidate, TaskId[]>(candidates.map((candidate) => [candidate, []]));
  for (const task of sorted) {
    const owner = owners.get(taskName(task));
    if (owner !== undefined) owned.get(owner)?.push(task);
  }
  const share = Math.floor(sorted.length / candidates.length);
  let largerShares = sorted.length % candidates.length;
  const kept = new Set<TaskName>();
  // Those with the most get the larger shares, so that the fewest tasks move.
  const byOwned = [...owned].sort((a, b) => b[1].length - a[1].length);
  for (const [candidate, own] of byOwned) {
    let limit = share;
    if (own.length > share && largerShares > 0) {
      limit++;
      largerShares--;
    }
    for (const task of mostSpread(own, limit)) {
      give(task, candidate);
      kept.add(taskName(task));
    }
  }
  return sorted.filter((task) => !kept.has(taskName(task)));
}

/** Who owns a task by now: of several claims the one of the latest generation. */
function findOwners(
  sorted: readonly TaskId[],
  candidates: readonly Candidate[],
): Map<TaskName, Candidate> {
  const existing = new Set(sorted.map(taskName));
  const owners = new Map<TaskName, Candidate>();
  for (const candidate of candidates) {
    for (const task of candidate.member.activeTasks) {
      const name = taskName(task);
      if (!existing.has(name)) continue;
      const other = owners.get(name);
      if (other === undefined || other.member.generation < candidate.member.generation) {
        owners.set(name, candidate);
      }
    }
  }
  return owners;
}

/** `limit` of the tasks, taken in turn from each subtopology. */
function mostSpread(tasks: readonly TaskId[], limit: number): TaskId[] {
  if (tasks.length <= limit) return [...tasks];
  const bySubtopology = new Map<number, TaskId[]>();
  for (const task of tasks) {
    const list = bySubtopology.get(task.subtopology) ?? [];
    list.push(task);
    bySubtopology.set(task.subtopology, list);
  }
  const chosen: TaskId[] = [];
  for (let round = 0; chosen.length < limit; round++) {
    for (const list of bySubtopology.values()) {
      const task = list[round];
      if (task !== undefined && chosen.length < limit) chosen.push(task);
    }
  }
  return chosen;
}

function leastLoaded(candidates: readonly Candidate[], subtopology: number): Candidate {
  let best = candidates[0] as Candidate;
  for (const candidate of candidates) {
    const difference =
      candidate.tasks.length - best.tasks.length ||
      (candidate.perSubtopology.get(subtopology) ?? 0) -
        (best.perSubtopology.get(subtopology) ?? 0);
    if (difference < 0) best = candidate;
  }
  return best;
}

function give(task: TaskId, candidate: Candidate): void {
  candidate.tasks.push(task);
  const count = candidate.perSubtopology.get(task.subtopology) ?? 0;
  candidate.perSubtopology.set(task.subtopology, count + 1);
}

function compareStrings(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
