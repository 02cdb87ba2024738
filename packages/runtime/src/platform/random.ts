/** A number in [0, 1); injected, so that a run can be repeated. */
export type Random = () => number;

export const systemRandom: Random = () => Math.random();
