/** Gives the event loop a turn, in the middle of long synchronous work. */
export function endOfTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
