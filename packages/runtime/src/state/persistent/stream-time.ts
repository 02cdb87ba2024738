import type { StateEnvironment } from './environment.ts';

/** A store's stream time stands beside its changelog offset, under a name that no store has. */
const SUFFIX = '/stream-time';

/** The stream time that the store's rows on disk were last written at, epoch ms; -1 if never. */
export function readStreamTime(environment: StateEnvironment, store: string): number {
  return Number(environment.offset(store + SUFFIX) ?? -1n);
}

/**
 * To be written after the rows and before the offset: a kill in between leaves a time that is too late
 * only for what will have expired once the changelog has been read to its end.
 */
export async function writeStreamTime(
  environment: StateEnvironment,
  store: string,
  streamTime: number,
): Promise<void> {
  await environment.setOffset(store + SUFFIX, BigInt(streamTime));
}
