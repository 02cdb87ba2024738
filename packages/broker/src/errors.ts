/** Base of the errors that the broker throws at whoever starts or steers it; clients get error codes. */
export class BrokerError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** What was thrown, as an Error whatever it was. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new BrokerInvariantError(`thrown: ${String(thrown)}`);
}

/** A fault of ours, never of a client. */
export class BrokerInvariantError extends BrokerError {
  constructor(message: string, options?: ErrorOptions) {
    super('BROKER_INVARIANT', message, options);
  }
}

/** The broker could not start; the message says what to do. */
export class BrokerStartError extends BrokerError {}

/** The broker's worker thread or a vital part of it ended without being asked to. */
export class BrokerCrashedError extends BrokerError {
  constructor(message: string, options?: ErrorOptions) {
    super('BROKER_CRASHED', message, options);
  }
}

/** Something was asked of a broker that has stopped, or is about to. */
export class BrokerStoppedError extends BrokerError {
  constructor() {
    super('BROKER_STOPPED', 'The broker has stopped.');
  }
}

/** One or more configuration keys are unknown or have wrong values; all of them are listed. */
export class ConfigError extends BrokerError {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(
      'CONFIG_INVALID',
      problems.length === 1
        ? `Invalid configuration: ${problems[0] as string}`
        : `Invalid configuration:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`,
    );
    this.problems = problems;
  }
}
