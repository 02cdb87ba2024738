import { join } from 'node:path';
import type { ChaosAppOptions } from './chaos-app.ts';
import { InstanceLife, type LifeEnd } from './instance-life.ts';
import type { Durations, InstanceState } from './instance-states.ts';
import type { StallingProxy } from './stalling-proxy.ts';
import { within } from './within.ts';

export interface InstanceOptions {
  readonly name: string;
  readonly app: ChaosAppOptions;
  readonly proxy: StallingProxy;
  readonly logDir: string;
  readonly durations: Durations;
  readonly onState: (instance: Instance, state: InstanceState) => void;
  /** What it should not have done. */
  readonly onFault: (fault: string) => void;
}

const KILL_DEADLINE_MS = 10_000;
const STOP_DEADLINE_MS = 40_000;

/** One of the application's instances over all its lives, on one state directory. */
export class Instance {
  readonly name: string;
  readonly proxy: StallingProxy;
  readonly #options: InstanceOptions;
  #life: InstanceLife | null = null;
  #lifeCount = 0;
  #fencedBefore = 0;
  /** An end that somebody has asked for. */
  #isEndWanted = false;

  constructor(options: InstanceOptions) {
    this.name = options.name;
    this.proxy = options.proxy;
    this.#options = options;
  }

  get isAlive(): boolean {
    return this.#life !== null;
  }

  get isRunning(): boolean {
    return this.#life?.states.isRunning === true;
  }

  get state(): InstanceState | null {
    return this.#life?.states.state ?? null;
  }

  get lifeCount(): number {
    return this.#lifeCount;
  }

  /** How often it was fenced, over all lives. */
  get fencedCount(): number {
    return this.#fencedBefore + (this.#life?.states.fencedCount ?? 0);
  }

  start(app: Partial<ChaosAppOptions> = {}): void {
    if (this.#life !== null) throw new Error(`${this.name} lives`);
    this.#isEndWanted = false;
    this.#lifeCount++;
    const { logDir, durations, onState } = this.#options;
    const life = new InstanceLife({
      app: { ...this.#options.app, ...app },
      logFile: join(logDir, `${this.name}-life-${this.#lifeCount}.log`),
      durations,
      onState: (state) => onState(this, state),
    });
    this.#life = life;
    void life.ended.then((end) => {
      this.#ended(life, end);
    });
  }

  /** kill -9; what it was doing, by its own word. */
  async kill(): Promise<readonly InstanceState[]> {
    const life = this.#life;
    if (life === null) return [];
    this.#isEndWanted = true;
    life.signal('SIGKILL');
    const { states } = await within(KILL_DEADLINE_MS, life.ended, `the end of ${this.name}`);
    return states;
  }

  /** As an operator would; it must end in time, and with exit code 0. */
  async stop(): Promise<void> {
    const life = this.#life;
    if (life === null) return;
    this.#isEndWanted = true;
    life.signal('SIGTERM');
    const end = await within(STOP_DEADLINE_MS, life.ended, `a stop of ${this.name}`);
    if (end.exitCode !== 0) {
      this.#options.onFault(
        `${this.name}, life ${this.#lifeCount}, was to stop, and ended with ${end.signal ?? String(end.exitCode)}`,
      );
    }
  }

  /** SIGSTOP: others may take over, and it knows nothing of that when it goes on. */
  freeze(): void {
    this.#life?.signal('SIGSTOP');
  }

  thaw(): void {
    this.#life?.signal('SIGCONT');
  }

  #ended(life: InstanceLife, { exitCode, signal }: LifeEnd): void {
    this.#fencedBefore += life.states.fencedCount;
    if (this.#life === life) this.#life = null;
    const which = `${this.name}, life ${this.#lifeCount}`;
    for (const line of life.states.loud) this.#options.onFault(`${which}: ${line}`);
    if (!this.#isEndWanted) {
      this.#options.onFault(`${which}, ended by itself: ${signal ?? String(exitCode)}`);
    }
  }
}
