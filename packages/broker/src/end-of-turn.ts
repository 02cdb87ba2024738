/** Gives the event loop a turn, in the middle of long synchronous work. */
export function endOfTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Long work over many things, in the middle of which others get their turns. */
export class Turns {
  readonly #perTurn: number;
  #count = 0;

  constructor(perTurn: number) {
    this.#perTurn = perTurn;
  }

  /** Before each of the things: a promise when it is time for a turn of the event loop. */
  next(): Promise<void> | undefined {
    this.#count++;
    return this.#count % this.#perTurn === 0 ? endOfTurn() : undefined;
  }
}
