import { setTimeout as sleep } from 'node:timers/promises';
import type { SeededRandom } from '../../golden/fuzz/random.ts';
import type { ChaosCluster } from './cluster.ts';
import type { Instance } from './instance.ts';
import { instanceStates, type Durations, type InstanceState } from './instance-states.ts';
import type { Blow, StallKind } from './plan.ts';
import { until, within } from './within.ts';

/** A kill that hits none of the states: an instance that starts, or is between two of them. */
type KillCounts = Record<InstanceState | 'other', number>;

export interface BlowsOptions {
  readonly cluster: ChaosCluster;
  readonly instances: readonly Instance[];
  readonly durations: Durations;
  readonly random: SeededRandom;
  readonly say: (line: string) => void;
  /** The run is over, for whatever reason: nothing is waited for any more. */
  readonly isOver: () => boolean;
}

const RESTART_MAX_MS = 1_500;
const BROKER_DOWN_MAX_MS = 2_500;
const BROKER_DEADLINE_MS = 120_000;
/** Longer than the session: the group goes on without it. */
const LONG_STALL_MS = 7_500;
const LONG_STALL_MORE_MS = 2_500;
const SHORT_STALL_MAX_MS = 4_000;
/** Of this part of the instances' stalls, long ones. */
const LONG_SHARE = 0.6;
/** A state that does not come by itself is brought about after this. */
const PROVOKE_AFTER_MS = 700;
const AIM_DEADLINE_MS = 20_000;
const FENCED_DEADLINE_MS = 20_000;
const SETTLE_DEADLINE_MS = 90_000;
const PROCESSING_MAX_MS = 1_000;
/** Timers are not to be relied on below this, so the last part is waited for actively, ms. */
const SPIN_MS = 3;

interface Aim {
  readonly state: InstanceState;
  readonly fraction: number;
  readonly hit: (instance: Instance) => void;
}

/** Deals the blows, and brings back what they have killed. */
export class Blows {
  readonly kills: KillCounts;
  brokerKills = 0;
  stalls = 0;
  /** Stalls that lasted longer than the session of the instance. */
  longStalls = 0;
  /** Of these, such after which the instance has said that others have its tasks. */
  fenced = 0;
  readonly #options: BlowsOptions;
  readonly #startedMs = performance.now();
  #aim: Aim | null = null;
  #stalled: Instance | null = null;
  #stall: Promise<void> = Promise.resolve();
  /** Instances that are being started again, or stopped. */
  readonly #busy = new Map<Instance, Promise<void>>();

  constructor(options: BlowsOptions) {
    this.#options = options;
    const zero = instanceStates.map((state) => [state, 0] as const);
    this.kills = Object.fromEntries([...zero, ['other', 0]]) as KillCounts;
  }

  /** Of instances and of the broker. */
  get killCount(): number {
    return Object.values(this.kills).reduce((sum, count) => sum + count, this.brokerKills);
  }

  /** An instance says that a state begins. */
  onState(instance: Instance, state: InstanceState): void {
    const aim = this.#aim;
    if (aim?.state !== state || !this.#canBeHit(instance)) return;
    this.#aim = null;
    void this.#after(aim.fraction * this.#options.durations[state], () => aim.hit(instance));
  }

  async strike(blow: Blow): Promise<void> {
    switch (blow.kind) {
      case 'kill':
        await this.#kill(blow, blow.state);
        break;
      case 'kill-broker':
        await this.#killBroker(blow);
        break;
      case 'freeze':
      case 'stall-all':
      case 'stall-one':
        await this.#stallBeside(blow, blow.kind);
    }
    if (blow.settles) await this.settle();
  }

  /** Nothing stalls, and every instance runs. */
  async settle(): Promise<void> {
    await this.#stall;
    await Promise.all(this.#busy.values());
    const { instances, isOver } = this.#options;
    await until(
      SETTLE_DEADLINE_MS,
      () => isOver() || instances.every(({ isRunning }) => isRunning),
      `${instances.map(({ name, state }) => `${name}: ${state ?? 'other'}`).join(', ')}; all to run`,
    );
  }

  async #kill(blow: Blow, state: InstanceState): Promise<void> {
    // At any moment between two commits, not right after the last blow.
    if (state === 'processing') await sleep(blow.delay * PROCESSING_MAX_MS);
    const victim = await this.#inState(blow, state);
    if (victim === null) {
      this.#say(`nobody was ${state} in time`);
      return;
    }
    const states = await victim.kill();
    // Where it did several things, it counts as what it was to be.
    const was = states.includes(state) ? state : (states[0] ?? 'other');
    this.kills[was]++;
    this.#say(
      `kill ${this.killCount}: ${victim.name}, life ${victim.lifeCount}, ${was}` +
        (was === state ? '' : ` (aim: ${state})`),
    );
    this.#restart(victim, blow.delay);
  }

  /** The first that comes into the state, when a part of it is over. */
  async #inState(blow: Blow, state: InstanceState): Promise<Instance | null> {
    let victim: Instance | null = null;
    const hit = new Promise<void>((resolve) => {
      this.#aim = {
        state,
        fraction: blow.fraction,
        hit: (instance) => {
          victim = instance;
          resolve();
        },
      };
    });
    const provoked = setTimeout(() => {
      const canBeProvoked = state === 'restoring' || state === 'rebalancing';
      if (this.#aim !== null && canBeProvoked) this.#provoke(blow);
    }, PROVOKE_AFTER_MS);
    try {
      await within(AIM_DEADLINE_MS, hit, state);
    } catch {
      return null;
    } finally {
      clearTimeout(provoked);
      this.#aim = null;
    }
    return victim;
  }

  /** An instance is stopped, as an operator would, and started again: tasks move, and are restored. */
  #provoke(blow: Blow): void {
    const instance = this.#pick(blow);
    if (instance === null) return;
    this.#say(`stop: ${instance.name}, life ${instance.lifeCount}`);
    this.#whileBusy(instance, async () => {
      await instance.stop();
      await sleep(blow.delay * RESTART_MAX_MS);
      instance.start();
    });
  }

  #restart(instance: Instance, delay: number): void {
    this.#whileBusy(instance, async () => {
      await sleep(delay * RESTART_MAX_MS);
      if (!instance.isAlive) instance.start();
    });
  }

  /** Its end, where it fails, is told by who settles. */
  #whileBusy(instance: Instance, action: () => Promise<void>): void {
    const before = this.#busy.get(instance);
    const done = (async () => {
      await before;
      await action();
    })();
    this.#busy.set(instance, done);
    done.then(
      () => {
        if (this.#busy.get(instance) === done) this.#busy.delete(instance);
      },
      () => undefined,
    );
  }

  async #killBroker(blow: Blow): Promise<void> {
    const { cluster, random } = this.#options;
    await cluster.settled();
    const which = await cluster.kill(random);
    this.brokerKills++;
    this.#say(`kill ${this.killCount}: ${which}`);
    await sleep(blow.delay * BROKER_DOWN_MAX_MS);
    await within(BROKER_DEADLINE_MS, cluster.restart(), `the start of ${which}`);
  }

  /** It goes on while other blows are dealt; there is one at a time. */
  async #stallBeside(blow: Blow, kind: StallKind): Promise<void> {
    await this.#stall;
    const instance = this.#pick(blow);
    if (instance === null) return;
    const isLong = kind !== 'stall-one' && blow.delay < LONG_SHARE;
    const lastsMs = isLong
      ? LONG_STALL_MS + blow.fraction * LONG_STALL_MORE_MS
      : 500 + blow.fraction * SHORT_STALL_MAX_MS;
    this.stalls++;
    this.#say(`${kind}: ${instance.name}, life ${instance.lifeCount}, ${Math.round(lastsMs)} ms`);
    this.#stalled = instance;
    const { fencedCount, lifeCount } = instance;
    if (kind === 'freeze') instance.freeze();
    else if (kind === 'stall-all') instance.proxy.stallAll();
    else instance.proxy.stallOne(this.#options.random);
    this.#stall = (async () => {
      await sleep(lastsMs);
      if (kind === 'freeze') instance.thaw();
      else instance.proxy.goOn();
      if (isLong) {
        this.longStalls++;
        const deadline = performance.now() + FENCED_DEADLINE_MS;
        while (instance.fencedCount === fencedCount && performance.now() < deadline) {
          if (!instance.isAlive || this.#options.isOver()) break;
          await sleep(20);
        }
        if (instance.fencedCount > fencedCount) this.fenced++;
        else this.#say(`${instance.name}, life ${lifeCount}, was not fenced`);
      }
      this.#stalled = null;
    })();
  }

  #pick({ instance }: Blow): Instance | null {
    const { instances } = this.#options;
    for (let i = 0; i < instances.length; i++) {
      const one = instances[(instance + i) % instances.length] as Instance;
      if (this.#canBeHit(one) && one.isRunning) return one;
    }
    return null;
  }

  #canBeHit(instance: Instance): boolean {
    return instance.isAlive && instance !== this.#stalled && !this.#isStopping(instance);
  }

  #isStopping(instance: Instance): boolean {
    return this.#busy.has(instance) && instance.state === null;
  }

  async #after(delayMs: number, action: () => void): Promise<void> {
    const untilMs = performance.now() + delayMs;
    if (delayMs > SPIN_MS) await sleep(delayMs - SPIN_MS);
    while (performance.now() < untilMs);
    action();
  }

  #say(what: string): void {
    const seconds = ((performance.now() - this.#startedMs) / 1_000).toFixed(1);
    this.#options.say(`${seconds.padStart(6)} s  ${what}`);
  }
}
