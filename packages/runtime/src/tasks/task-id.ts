import { InvariantError } from '../errors.ts';
import type { TaskId } from './task-context.ts';

/** `<subtopology>_<partition>`, as logs, directories and metrics show it. */
export type TaskName = string;

export function taskName(id: TaskId): TaskName {
  return `${String(id.subtopology)}_${String(id.partition)}`;
}

export function parseTaskName(name: TaskName): TaskId {
  const match = /^(\d+)_(\d+)$/.exec(name);
  if (match === null) throw new InvariantError(`'${name}' is no task id`);
  return { subtopology: Number(match[1]), partition: Number(match[2]) };
}

export function compareTaskIds(a: TaskId, b: TaskId): number {
  return a.subtopology - b.subtopology || a.partition - b.partition;
}
