import { distance } from 'fastest-levenshtein';
import { SUGGESTION_CHARACTERS } from './limits.ts';

/** ` Did you mean x?` with the name that was most probably meant, or nothing. */
export function didYouMean(name: string, names: Iterable<string>): string {
  const nearest = nearestName(name, names);
  return nearest === null ? '' : ` Did you mean ${nearest}?`;
}

function nearestName(name: string, names: Iterable<string>): string | null {
  const given = name.slice(0, SUGGESTION_CHARACTERS).toLowerCase();
  let nearest: string | null = null;
  let least = Math.max(2, Math.floor(given.length / 3)) + 1;
  for (const candidate of names) {
    if (Math.abs(candidate.length - given.length) >= least) continue;
    const edits = distance(given, candidate.toLowerCase());
    if (edits < least) {
      nearest = candidate;
      least = edits;
    }
  }
  return nearest;
}
