import type { Clock } from '../../platform/clock.ts';
import type { Disk } from '../../platform/disk.ts';
import type { Random } from '../../platform/random.ts';
import type { CleaningControl, CleaningReport, CleaningTask } from '../cleaning-task.ts';
import { OffsetMap } from '../offset-map.ts';
import type { CleaningTools } from '../pass.ts';
import { mapBytesFor } from './map-size.ts';

interface PassToolsOptions {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly random: Random;
  readonly mapBytes: number;
  readonly loadFactor: number;
  readonly bufferBytes: number;
}

/** What one thread's passes work with: an offset map that grows with the tasks, up to its bound. */
export class PassTools {
  readonly #options: PassToolsOptions;
  #map: OffsetMap | null = null;
  #mapBytes = 0;

  constructor(options: PassToolsOptions) {
    this.#options = options;
  }

  /** @throws ConfigError when the memory holds no key. */
  for(task: CleaningTask, control: CleaningControl): CleaningTools {
    const { disk, clock, random, mapBytes, loadFactor, bufferBytes } = this.#options;
    const wanted = mapBytesFor(task, mapBytes, loadFactor);
    if (this.#map === null || this.#mapBytes < wanted) {
      // The old one first: two would be more than is allowed.
      this.#map = null;
      this.#map = new OffsetMap(wanted, loadFactor, random);
      this.#mapBytes = wanted;
    }
    return { disk, clock, map: this.#map, ioBufferBytes: bufferBytes, control };
  }

  /** With the map's utilization as a share of the memory that is allowed, as Kafka has it. */
  report(report: CleaningReport): CleaningReport {
    const { stats } = report;
    const mapUtilization = (stats.mapUtilization * this.#mapBytes) / this.#options.mapBytes;
    return { ...report, stats: { ...stats, mapUtilization } };
  }

  release(): void {
    this.#map = null;
    this.#mapBytes = 0;
  }
}
