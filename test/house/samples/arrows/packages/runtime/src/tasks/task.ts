import { operator } from '../operators/operator.ts';

export const task = (): unknown => operator;
