import type { GroupClient } from './group-service.ts';

/** A request that waits for its group: answered once, or given up when its connection closes. */
export class Parked<Result> {
  readonly promise: Promise<Result>;
  #resolve: ((result: Result) => void) | undefined;
  #stopWatching: () => void = () => undefined;

  /** `onGone` is called when the connection closes before the answer; it must answer, too. */
  constructor(client: GroupClient, onGone: (parked: Parked<Result>) => void) {
    this.promise = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    this.#stopWatching = client.onClose(() => {
      if (this.isOpen) onGone(this);
    });
  }

  get isOpen(): boolean {
    return this.#resolve !== undefined;
  }

  /** A second answer is ignored. */
  answer(result: Result): void {
    const resolve = this.#resolve;
    if (resolve === undefined) return;
    this.#resolve = undefined;
    this.#stopWatching();
    resolve(result);
  }
}
