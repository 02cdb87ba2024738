import { progressDisplay, type ProgressDisplay } from '../support/progress-display.ts';
import type { LoadResult } from './load.ts';
import { renderReport } from './report.ts';
import type { StateDay } from './results.ts';
import type { FlightsProgress } from './run.ts';

export interface RunSummary {
  readonly results: readonly StateDay[];
  readonly flights: number;
  /** Flights that this run joined; the others had been before. */
  readonly joined: number;
  /** Records that passed the topology in this run, at either of its parts. */
  readonly records: number;
  readonly seconds: number;
}

/** What the example says while and after it runs. */
export interface Output {
  started(bootstrapServers: string, isEmbedded: boolean): void;
  loading(rows: number, total: number): void;
  loaded(result: LoadResult, seconds: number): void;
  processing(progress: FlightsProgress): void;
  finished(summary: RunSummary): void;
  stopped(signal: string): void;
}

const whole = (value: number): string => Math.round(value).toLocaleString('en-US');
const perSecond = (count: number, seconds: number): string =>
  `${seconds.toFixed(1)} s, ${whole(count / Math.max(seconds, 0.001))} a second`;

/** For people. */
export class TextOutput implements Output {
  readonly #progress: ProgressDisplay;
  readonly #stream: NodeJS.WriteStream;
  #showing: 'loading' | 'processing' | null = null;

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
    this.#progress = progressDisplay(stream);
  }

  started(bootstrapServers: string, isEmbedded: boolean): void {
    this.#say(`${isEmbedded ? 'Embedded broker' : 'Cluster'} at ${bootstrapServers}`);
  }

  loading(rows: number, total: number): void {
    this.#show('loading', total);
    this.#progress.update(rows, total);
  }

  loaded({ written, skipped }: LoadResult, seconds: number): void {
    this.#show(null);
    if (written === 0) {
      this.#say(`All ${whole(skipped)} flights had been loaded before`);
      return;
    }
    const before = skipped === 0 ? '' : `; ${whole(skipped)} were there already`;
    this.#say(`Loaded ${whole(written)} flights (${perSecond(written, seconds)})${before}`);
  }

  processing({ joined, counted, flights }: FlightsProgress): void {
    this.#show('processing', 2 * flights);
    this.#progress.update(joined + counted, 2 * flights);
  }

  finished({ results, flights, joined, records, seconds }: RunSummary): void {
    this.#show(null);
    if (joined === 0 && records === 0) {
      this.#say(`All ${whole(flights)} flights had been processed before`);
    } else {
      this.#say(
        `Processed ${whole(joined)} flights (${perSecond(joined, seconds)}), ` +
          `${whole(records)} records in all parts of the topology (${perSecond(records, seconds)})`,
      );
    }
    this.#say(renderReport(results));
  }

  stopped(signal: string): void {
    this.#show(null);
    this.#say(`Stopped by ${signal}; the next run on the same directories goes on from here`);
  }

  #show(phase: 'loading' | 'processing' | null, total = 0): void {
    if (this.#showing === phase) return;
    if (this.#showing !== null) this.#progress.end();
    this.#showing = phase;
    if (phase !== null) this.#progress.begin(phase === 'loading' ? 'Loading' : 'Processing', total);
  }

  #say(text: string): void {
    this.#stream.write(`${text}\n`);
  }
}

/** For programs: one JSON object a line. */
export class JsonOutput implements Output {
  readonly #stream: NodeJS.WritableStream;

  constructor(stream: NodeJS.WritableStream) {
    this.#stream = stream;
  }

  started(bootstrapServers: string, isEmbedded: boolean): void {
    this.#say({ event: 'started', bootstrapServers, isEmbedded });
  }

  loading(rows: number, total: number): void {
    this.#say({ event: 'loading', rows, total });
  }

  loaded(result: LoadResult, seconds: number): void {
    this.#say({ event: 'loaded', ...result, seconds });
  }

  processing(progress: FlightsProgress): void {
    this.#say({ event: 'processing', ...progress });
  }

  finished(summary: RunSummary): void {
    this.#say({ event: 'finished', ...summary });
  }

  stopped(signal: string): void {
    this.#say({ event: 'stopped', signal });
  }

  #say(event: object): void {
    this.#stream.write(`${JSON.stringify(event)}\n`);
  }
}
