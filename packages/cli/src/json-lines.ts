/** JSON in one line. Offsets and other 64-bit numbers (bigints) become strings. */
export function toJsonLine(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) =>
    typeof item === 'bigint' ? item.toString() : item,
  );
}
