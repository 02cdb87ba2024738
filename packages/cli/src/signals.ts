export interface Signals {
  /** Resolves with the first SIGINT or SIGTERM. */
  readonly received: Promise<void>;
  /** Aborted by it. */
  readonly signal: AbortSignal;
  end(): void;
}

/** The first signal asks for a stop, a second one ends the process as it would by default. */
export function listenForSignals(): Signals {
  const controller = new AbortController();
  let onSignal = (): void => undefined;
  const received = new Promise<void>((resolve) => {
    onSignal = () => {
      controller.abort();
      resolve();
    };
  });
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
  return {
    received,
    signal: controller.signal,
    end: () => {
      process.removeListener('SIGINT', onSignal).removeListener('SIGTERM', onSignal);
    },
  };
}
