/** One line of a benchmark: ours beside theirs, measured in one run. */
export interface Figure {
  readonly name: string;
  readonly ours: number;
  readonly theirs: number;
  readonly unit: string;
  /** At least 1 means that ours is better, whatever the unit. */
  readonly ratio: number;
  /** Measurements of each side; the figures are their medians. */
  readonly runs: number;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle];
  if (upper === undefined) throw new Error('median of nothing');
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] as number) + upper) / 2;
}

export function figure(
  name: string,
  ours: readonly number[],
  theirs: readonly number[],
  unit: string,
  better: 'higher' | 'lower',
): Figure {
  const a = median(ours);
  const b = median(theirs);
  return {
    name,
    ours: rounded(a),
    theirs: rounded(b),
    unit,
    ratio: Math.round((better === 'higher' ? a / b : b / a) * 100) / 100,
    runs: Math.min(ours.length, theirs.length),
  };
}

function rounded(value: number): number {
  return value >= 100 ? Math.round(value) : Math.round(value * 100) / 100;
}

/** One JSON line a figure, as it is known. */
export function print(result: Figure): Figure {
  console.log(JSON.stringify(result));
  return result;
}
