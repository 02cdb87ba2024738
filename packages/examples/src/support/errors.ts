/** Something that the user gave cannot be used; its message says what to give instead. */
export class UsageError extends Error {
  readonly code = 'EXAMPLE_USAGE';
  override readonly name = 'UsageError';
}

/** The user, or the system, asked the example to stop. */
export class InterruptedError extends Error {
  readonly code = 'EXAMPLE_INTERRUPTED';
  override readonly name = 'InterruptedError';
  readonly signal: 'SIGINT' | 'SIGTERM';

  constructor(signal: 'SIGINT' | 'SIGTERM') {
    super(`stopped by ${signal}`);
    this.signal = signal;
  }
}
