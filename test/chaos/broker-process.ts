import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { BrokerAppEvent, BrokerAppOptions, Look } from './broker-app.ts';

const START_DEADLINE_MS = 30_000;
const LOOK_DEADLINE_MS = 30_000;
const INFO = 30;

/** What only a client that writes markers itself can bring about, and what is worth a line then. */
const PROVOKED_LINE = /a partition needs no marker of this transaction/;

const isSource = import.meta.url.endsWith('.ts');
const program = fileURLToPath(
  new URL(isSource ? '../dist/chaos/broker-app.js' : './broker-app.js', import.meta.url),
);

/** A broker in a process of its own, and whatever goes wrong with it. */
export class BrokerProcess {
  readonly port: number;
  /** Lines of the log above info, and what else it should not have said; also that it ended by itself. */
  readonly faults: string[];
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #exited: Promise<void>;
  readonly #looking: ((look: Look) => void)[] = [];
  #isWanted = true;

  private constructor(
    child: ChildProcessWithoutNullStreams,
    port: number,
    faults: string[],
    events: { onLook: (look: Look) => void },
  ) {
    this.#child = child;
    this.port = port;
    this.faults = faults;
    events.onLook = (look) => this.#looking.shift()?.(look);
    this.#exited = new Promise((resolve) => {
      child.once('close', (code, signal) => {
        if (this.#isWanted) faults.push(`the broker ended by itself: ${signal ?? String(code)}`);
        resolve();
      });
    });
  }

  /** `onLog` is told each line of its log. */
  static async start(
    options: BrokerAppOptions,
    onLog: (line: string) => void = () => undefined,
  ): Promise<BrokerProcess> {
    const args = ['--expose-gc', program, JSON.stringify(options)];
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    const faults: string[] = [];
    createInterface({ input: child.stderr }).on('line', (line) => {
      onLog(line);
      if (isLoud(line)) faults.push(line);
    });
    const events = { onLook: (_look: Look): void => undefined };
    const port = await new Promise<number>((resolve, reject) => {
      const fail = (what: string): void => {
        child.kill('SIGKILL');
        reject(new Error(`${what}:\n${faults.join('\n')}`));
      };
      const timer = setTimeout(() => fail('the broker did not start in time'), START_DEADLINE_MS);
      const onClose = (): void => fail('the broker did not start');
      child.once('close', onClose);
      createInterface({ input: child.stdout }).on('line', (line) => {
        const said = JSON.parse(line) as BrokerAppEvent;
        if (said.event === 'look') events.onLook(said);
        if (said.event !== 'ready') return;
        clearTimeout(timer);
        child.removeListener('close', onClose);
        resolve(said.port);
      });
    });
    return new BrokerProcess(child, port, faults, events);
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  /** What it takes, after a collection. */
  look(): Promise<Look> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`the broker was not seen in time:\n${this.faults.join('\n')}`)),
        LOOK_DEADLINE_MS,
      );
      this.#looking.push((look) => {
        clearTimeout(timer);
        resolve(look);
      });
      this.#child.stdin.write('look\n');
    });
  }

  /** kill -9. */
  async kill(): Promise<void> {
    this.#isWanted = false;
    this.#child.kill('SIGKILL');
    await this.#exited;
  }

  async stop(): Promise<void> {
    this.#isWanted = false;
    this.#child.stdin.write('stop\n');
    await this.#exited;
  }
}

function isLoud(line: string): boolean {
  if (!line.startsWith('{')) return line !== '';
  const { level, msg = '' } = JSON.parse(line) as { level: number; msg?: string };
  return level > INFO && !PROVOKED_LINE.test(msg);
}
