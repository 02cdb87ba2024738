import {
  nodeDisk,
  OffsetMap,
  systemClock,
  systemRandom,
  type CleaningTools,
} from '@millrace/compaction';

/** As the oracle's defaults are. */
const LOAD_FACTOR = 0.9;
const IO_BUFFER_BYTES = 256 * 1_024;

/** What a pass needs that nobody throttles or stops. */
export function cleaningTools(map: OffsetMap, ioBufferBytes = IO_BUFFER_BYTES): CleaningTools {
  return {
    disk: nodeDisk,
    clock: systemClock,
    map,
    ioBufferBytes,
    control: { ensureWanted: () => undefined, throttle: () => undefined },
  };
}

export function newOffsetMap(bytes: number, loadFactor = LOAD_FACTOR): OffsetMap {
  return new OffsetMap(bytes, loadFactor, systemRandom);
}
