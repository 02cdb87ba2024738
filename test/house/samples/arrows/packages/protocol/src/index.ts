import { task } from '../../runtime/src/tasks/task.ts';

export const upwards = task;
