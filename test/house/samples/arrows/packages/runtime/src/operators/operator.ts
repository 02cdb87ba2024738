import { task } from '../tasks/task.ts';

export const operator = (): unknown => task;
