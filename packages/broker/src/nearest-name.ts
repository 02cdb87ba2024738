import { SUGGESTION_INPUT_CHARACTERS } from './limits.ts';

/** The candidate with the fewest edits from `name`, if few enough to be what was meant. */
export function nearestName(name: string, candidates: Iterable<string>): string | undefined {
  const given = name.slice(0, SUGGESTION_INPUT_CHARACTERS).toLowerCase().replaceAll(/[_-]/g, '.');
  let nearest: string | undefined;
  let nearestEdits = Math.max(2, Math.floor(given.length / 3)) + 1;
  for (const candidate of candidates) {
    const edits = editCount(given, candidate.toLowerCase(), nearestEdits);
    if (edits < nearestEdits) {
      nearest = candidate;
      nearestEdits = edits;
    }
  }
  return nearest;
}

/** Levenshtein distance, or `bound` if it is not below it. */
function editCount(a: string, b: string, bound: number): number {
  if (Math.abs(a.length - b.length) >= bound) return bound;
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const substituted = (previous[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(
        Math.min(substituted, (previous[j] as number) + 1, (current[j - 1] as number) + 1),
      );
    }
    previous = current;
  }
  return previous[b.length] as number;
}
