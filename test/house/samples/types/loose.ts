export function first(values: number[]): number {
  return values[0];
}

export const wrong: { size?: number } = { size: undefined };
