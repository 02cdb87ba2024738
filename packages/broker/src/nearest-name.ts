import { distance } from 'fastest-levenshtein';
import { SUGGESTION_INPUT_CHARACTERS } from './limits.ts';

/** The candidate with the fewest edits from `name`, if few enough to be what was meant. */
export function nearestName(name: string, candidates: Iterable<string>): string | undefined {
  const given = name.slice(0, SUGGESTION_INPUT_CHARACTERS).toLowerCase().replaceAll(/[_-]/g, '.');
  let nearest: string | undefined;
  let nearestEdits = Math.max(2, Math.floor(given.length / 3)) + 1;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - given.length) >= nearestEdits) continue;
    const edits = distance(given, candidate.toLowerCase());
    if (edits < nearestEdits) {
      nearest = candidate;
      nearestEdits = edits;
    }
  }
  return nearest;
}
