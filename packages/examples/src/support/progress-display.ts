import { SingleBar } from 'cli-progress';

/** Shows how far something has come. */
export interface ProgressDisplay {
  begin(what: string, total: number): void;
  update(value: number, total?: number): void;
  end(): void;
}

const LINE_INTERVAL_MS = 2_000;

/** A bar on a terminal; elsewhere a line from time to time. */
export function progressDisplay(stream: NodeJS.WriteStream): ProgressDisplay {
  return stream.isTTY ? new Bar(stream) : new Lines(stream);
}

class Bar implements ProgressDisplay {
  readonly #stream: NodeJS.WriteStream;
  #bar: SingleBar | null = null;

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
  }

  begin(what: string, total: number): void {
    this.#bar = new SingleBar({
      stream: this.#stream,
      format: `${what.padEnd(12)} [{bar}] {percentage} % | {value} of {total} | {duration_formatted}`,
      hideCursor: true,
      stopOnComplete: false,
    });
    this.#bar.start(total, 0);
  }

  update(value: number, total?: number): void {
    if (total !== undefined) this.#bar?.setTotal(total);
    this.#bar?.update(value);
  }

  end(): void {
    this.#bar?.stop();
    this.#bar = null;
  }
}

class Lines implements ProgressDisplay {
  readonly #stream: NodeJS.WriteStream;
  #what = '';
  #total = 0;
  #shownAt = 0;

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
  }

  begin(what: string, total: number): void {
    this.#what = what;
    this.#total = total;
    this.#shownAt = performance.now();
  }

  update(value: number, total = this.#total): void {
    const now = performance.now();
    if (now - this.#shownAt < LINE_INTERVAL_MS) return;
    this.#shownAt = now;
    const share = total === 0 ? 100 : Math.floor((value / total) * 100);
    this.#stream.write(
      `${this.#what}: ${value.toLocaleString('en-US')} of ${total.toLocaleString('en-US')} (${share} %)\n`,
    );
  }

  end(): void {
    this.#what = '';
  }
}
