import type { TaskId } from '../operators/task-context.ts';

/** `<subtopology>_<partition>`, as logs, directories and metrics show it. */
export type TaskName = string;

export function taskName(id: TaskId): TaskName {
  return `${String(id.subtopology)}_${String(id.partition)}`;
}

export function compareTaskIds(a: TaskId, b: TaskId): number {
  return a.subtopology - b.subtopology || a.partition - b.partition;
}
