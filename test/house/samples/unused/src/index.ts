import { used } from './parts.ts';

export const answer = used;
