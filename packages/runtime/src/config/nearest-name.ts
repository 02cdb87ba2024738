import { distance } from 'fastest-levenshtein';

/** The name nearest to `name`, or null if none is near. */
export function nearestName(
  name: string,
  names: Iterable<string>,
  maxDistance: number,
): string | null {
  let nearest: string | null = null;
  let least = Math.min(maxDistance, Math.ceil(name.length / 2)) + 1;
  for (const candidate of names) {
    if (Math.abs(candidate.length - name.length) >= least) continue;
    const edits = distance(name, candidate);
    if (edits < least) {
      least = edits;
      nearest = candidate;
    }
  }
  return nearest;
}
