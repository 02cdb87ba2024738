import { randomFillSync } from 'node:crypto';

/** Chance, injected, so that a run can be repeated. */
export interface Random {
  /** A number in [0, 1). */
  next(): number;
  /** `length` random bytes, for ids. */
  bytes(length: number): Buffer;
}

export const systemRandom: Random = {
  next: () => Math.random(),
  bytes: (length) => randomFillSync(Buffer.allocUnsafe(length)),
};
