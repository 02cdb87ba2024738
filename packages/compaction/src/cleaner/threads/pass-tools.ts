import type { Clock } from '../../platform/clock.ts';
import type { Disk } from '../../platform/disk.ts';
import type { Random } from '../../platform/random.ts';
import type { CleaningControl } from '../cleaning-task.ts';
import { OffsetMap } from '../map/offset-map.ts';
import type { CleaningTools } from '../pass/pass.ts';

interface PassToolsOptions {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly random: Random;
  readonly mapBytes: number;
  readonly loadFactor: number;
  readonly bufferBytes: number;
}

/** What one thread's passes work with, one after the other; its memory is taken by the first. */
export class PassTools {
  readonly #options: PassToolsOptions;
  #map: OffsetMap | null = null;

  constructor(options: PassToolsOptions) {
    this.#options = options;
  }

  /** @throws ConfigError when the memory holds no key. */
  for(control: CleaningControl): CleaningTools {
    const { disk, clock, random, mapBytes, loadFactor, bufferBytes } = this.#options;
    this.#map ??= new OffsetMap(mapBytes, loadFactor, random);
    return { disk, clock, map: this.#map, ioBufferBytes: bufferBytes, control };
  }

  release(): void {
    this.#map = null;
  }
}
