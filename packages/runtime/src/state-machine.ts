import { InvariantError } from './errors.ts';

/** For each state the events that it allows, and where each of them leads. */
export type TransitionTable<S extends string, E extends string> = Readonly<
  Record<S, Readonly<Partial<Record<E, S>>>>
>;

/** The state that `event` leads to; undefined where the table has no such transition. */
export function transition<S extends string, E extends string>(
  table: TransitionTable<S, E>,
  state: S,
  event: E,
): S | undefined {
  return table[state][event];
}

/** A state and its table. Everything that has a life cycle moves through one of these. */
export class StateMachine<S extends string, E extends string> {
  readonly #name: string;
  readonly #table: TransitionTable<S, E>;
  readonly #onChange: (next: S, previous: S) => void;
  #state: S;

  constructor(
    name: string,
    table: TransitionTable<S, E>,
    initial: S,
    onChange: (next: S, previous: S) => void = () => undefined,
  ) {
    this.#name = name;
    this.#table = table;
    this.#state = initial;
    this.#onChange = onChange;
  }

  get state(): S {
    return this.#state;
  }

  can(event: E): boolean {
    return this.#table[this.#state][event] !== undefined;
  }

  /** Throws InvariantError where the table has no such transition. */
  fire(event: E): void {
    if (!this.tryFire(event)) {
      throw new InvariantError(`${this.#name}: event ${event} is not allowed in ${this.#state}`, {
        context: { state: this.#state, event },
      });
    }
  }

  /** False, and nothing happens, where the table has no such transition. */
  tryFire(event: E): boolean {
    const next = this.#table[this.#state][event];
    if (next === undefined) return false;
    const previous = this.#state;
    this.#state = next;
    if (next !== previous) this.#onChange(next, previous);
    return true;
  }
}
