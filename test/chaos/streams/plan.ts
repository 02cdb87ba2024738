import type { SeededRandom } from '../../golden/fuzz/random.ts';
import { instanceStates, type InstanceState } from './instance-states.ts';

/** `freeze`: SIGSTOP and SIGCONT. `stall-all`, `stall-one`: in the proxy, all connections or one of them. */
export type StallKind = 'freeze' | 'stall-all' | 'stall-one';

interface BlowParts {
  /** Index of an instance: the one that is hit, or, where one in the right state is hit, the one that is stopped to bring that about. */
  readonly instance: number;
  /** How much of the state is over, 0 to 1. */
  readonly fraction: number;
  /** Until what was killed is started again, or until what stalls goes on, 0 to 1. */
  readonly delay: number;
  /** Whether the next blow waits until all instances run. */
  readonly settles: boolean;
}

export type Blow = BlowParts &
  (
    | { readonly kind: 'kill'; readonly state: InstanceState }
    | { readonly kind: 'kill-broker' }
    | { readonly kind: StallKind }
  );

export function isKill(blow: Blow): boolean {
  return blow.kind === 'kill' || blow.kind === 'kill-broker';
}

/** How finely moments are drawn. */
const STEPS = 1_000;
/** The last moment of a state, 0 to 1: a signal takes its time to arrive. */
const LAST_MOMENT = 0.7;

const STALLS: readonly StallKind[] = ['freeze', 'stall-all', 'stall-one'];

/**
 * Blows without end, drawn from the seed: rounds in which each kind comes once, in another order each time. Every
 * second round has no stalls.
 */
export function* planBlows(random: SeededRandom, instanceCount: number): Generator<Blow, never> {
  const parts = (): BlowParts => ({
    instance: random.int(instanceCount),
    fraction: (random.int(STEPS) / STEPS) * LAST_MOMENT,
    delay: random.int(STEPS) / STEPS,
    settles: !random.oneIn(3),
  });
  for (let round = 0; ; round++) {
    const blows: Blow[] = [
      ...instanceStates.map((state) => ({ kind: 'kill' as const, state, ...parts() })),
      { kind: 'kill-broker', ...parts() },
      ...(round % 2 === 0 ? STALLS : []).map((kind) => ({ kind, ...parts() })),
    ];
    while (blows.length > 0) {
      const [blow] = blows.splice(random.int(blows.length), 1);
      yield blow as Blow;
    }
  }
}
