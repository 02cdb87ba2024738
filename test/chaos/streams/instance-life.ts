import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { ChaosAppOptions } from './chaos-app.ts';
import { InstanceStates, type Durations, type InstanceState } from './instance-states.ts';

const isSource = import.meta.url.endsWith('.ts');
const program = fileURLToPath(
  new URL(isSource ? '../../dist/chaos/streams/chaos-app.js' : './chaos-app.js', import.meta.url),
);

export interface LifeOptions {
  readonly app: ChaosAppOptions;
  /** Its log is kept there. */
  readonly logFile: string;
  readonly durations: Durations;
  /** A state begins. */
  readonly onState: (state: InstanceState) => void;
}

export interface LifeEnd {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** What it was doing in the end. */
  readonly states: readonly InstanceState[];
}

/** A process of the application, from its start to its end. */
export class InstanceLife {
  readonly states: InstanceStates;
  /** Resolves when it has ended and all that it said is read. */
  readonly ended: Promise<LifeEnd>;
  readonly #child: ChildProcess;
  #hasEnded = false;

  constructor({ app, logFile, durations, onState }: LifeOptions) {
    this.states = new InstanceStates(durations);
    const child = spawn(process.execPath, [program, JSON.stringify(app)], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#child = child;
    const log = createWriteStream(logFile);
    createInterface({ input: child.stderr }).on('line', (line) => {
      log.write(`${line}\n`);
      const state = this.states.see(line);
      if (state !== null) onState(state);
    });
    this.ended = new Promise((resolve) => {
      child.once('close', (exitCode, signal) => {
        this.#hasEnded = true;
        log.end(() => resolve({ exitCode, signal, states: this.states.all }));
      });
    });
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  signal(signal: 'SIGKILL' | 'SIGTERM' | 'SIGSTOP' | 'SIGCONT'): void {
    this.#child.kill(signal);
  }
}
