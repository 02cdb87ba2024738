const DEPTH_MAX = 6;

/** A copy in which bigints are decimal strings; the value itself where there are none. */
export function withoutBigints<T>(value: T): T {
  return hasBigint(value, 0) ? (convert(value, 0) as T) : value;
}

function hasBigint(value: unknown, depth: number): boolean {
  if (typeof value === 'bigint') return true;
  if (typeof value !== 'object' || value === null || depth >= DEPTH_MAX) return false;
  return Object.values(value).some((entry) => hasBigint(entry, depth + 1));
}

function convert(value: unknown, depth: number): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null || depth >= DEPTH_MAX) return value;
  if (Array.isArray(value)) return value.map((entry) => convert(entry, depth + 1));
  // Errors have a serializer of their own.
  if (value instanceof Error) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [key, convert(entry, depth + 1)]),
  );
}
