/** Levenshtein distance of two texts. */
export function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (previous[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const removed = (previous[j] as number) + 1;
      const added = (current[j - 1] as number) + 1;
      current.push(Math.min(replaced, removed, added));
    }
    previous = current;
  }
  return previous[b.length] as number;
}

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
    const distance = editDistance(name, candidate);
    if (distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}
