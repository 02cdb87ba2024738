/** Runs asynchronous sections one after another, in the order in which they were asked for. */
export class Mutex {
  #tail: Promise<unknown> = Promise.resolve();

  run<T>(section: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(section);
    // The next section runs whatever became of this one; its own caller sees the failure.
    this.#tail = result.then(
      () => undefined,
      () => undefined,
    );
    return result;
  }
}
