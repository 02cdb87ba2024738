import Table from 'cli-table3';

export type Cell = string | number | bigint | null;

const BORDERS = [
  'top',
  'top-mid',
  'top-left',
  'top-right',
  'bottom',
  'bottom-mid',
  'bottom-left',
  'bottom-right',
  'left',
  'left-mid',
  'mid',
  'mid-mid',
  'right',
  'right-mid',
] as const;

const borderless = {
  ...(Object.fromEntries(BORDERS.map((name) => [name, ''])) as Record<
    (typeof BORDERS)[number],
    string
  >),
  middle: '  ',
};

/**
 * Columns without borders, so that other tools can cut them; numbers to the right. Null is shown as a
 * dash.
 */
export function renderTable(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const isNumeric = head.map(
    (_, column) =>
      rows.length > 0 &&
      rows.every((row) => typeof row[column] !== 'string') &&
      rows.some((row) => row[column] !== null),
  );
  const table = new Table({
    head: [...head],
    chars: borderless,
    colAligns: isNumeric.map((right) => (right ? 'right' : 'left')),
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
  for (const row of rows) table.push(row.map((cell) => (cell === null ? '-' : String(cell))));
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

/** Names and values below each other. */
export function renderFields(fields: readonly (readonly [string, Cell])[]): string {
  const width = Math.max(...fields.map(([name]) => name.length));
  return fields
    .map(([name, value]) => `${name.padEnd(width)}  ${value === null ? '-' : String(value)}`)
    .join('\n');
}

/** `3 records`, `1 record`. */
export function counted(count: number | bigint, what: string): string {
  return `${String(count)} ${what}${BigInt(count) === 1n ? '' : 's'}`;
}
