import type { CloseOptions } from './kafka-streams-options.ts';

/** What is closed: a `KafkaStreams`, or an application of `startEmbedded`. */
export interface Closable {
  /** False if something was left undone. */
  close(options?: CloseOptions): Promise<boolean>;
}

export interface CloseOnSignalsOptions extends CloseOptions {
  /** Default: SIGTERM and SIGINT. */
  readonly signals?: readonly NodeJS.Signals[];
  /** Called once it is closed, for what else keeps the process alive, such as an HTTP server. */
  readonly onClosed?: () => unknown;
}

/**
 * Closes the application when this process is told to end: the records in hand are finished, offsets are
 * committed, and the group is left, so that others take over at once. The process then ends by itself, as
 * soon as nothing else keeps it alive, with exit code 1 if something had to be left undone within
 * `timeoutMs` (default 60,000; Kubernetes kills after `terminationGracePeriodSeconds`, 30 s by default) and
 * 0 otherwise. A second signal ends it as it would without this.
 *
 * @returns no longer listens
 */
export function closeOnSignals(
  application: Closable,
  { signals = ['SIGTERM', 'SIGINT'], onClosed, ...options }: CloseOnSignalsOptions = {},
): () => void {
  const stopListening = (): void => {
    for (const signal of signals) process.removeListener(signal, onSignal);
  };
  const onSignal = (): void => {
    stopListening();
    close(application, options, onClosed).then(
      (isClean) => {
        if (!isClean) process.exitCode = 1;
      },
      (error: unknown) => {
        process.exitCode = 1;
        process.emitWarning(error as Error);
      },
    );
  };
  for (const signal of signals) process.on(signal, onSignal);
  return stopListening;
}

async function close(
  application: Closable,
  options: CloseOptions,
  onClosed: (() => unknown) | undefined,
): Promise<boolean> {
  const isClean = await application.close(options);
  await onClosed?.();
  return isClean;
}
