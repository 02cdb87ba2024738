import type { StoreLogger } from './store.ts';

/** Whether a range of keys, as latin1 strings of their bytes, ends before it begins: then it is warned of. */
export function isInvalidRange(
  first: string | null,
  last: string | null,
  store: string,
  logger: StoreLogger | undefined,
): boolean {
  if (first === null || last === null || first <= last) return false;
  logger?.warn(
    { store },
    'a range of keys ends before it begins, so it holds nothing: its bounds may be in the wrong order, or ' +
      'the bytes of the serde are in another order than the keys, as those of negative numbers',
  );
  return true;
}
