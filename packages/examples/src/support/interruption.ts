import { InterruptedError } from './errors.ts';

/** Ends at once when the user asks a second time. */
const EXIT_CODE_IMPATIENT = 1;

/** An AbortSignal for SIGINT and SIGTERM; its reason is an InterruptedError. */
export function listenForInterruption(): { readonly signal: AbortSignal; stop(): void } {
  const controller = new AbortController();
  const onSignal = (name: 'SIGINT' | 'SIGTERM'): void => {
    if (controller.signal.aborted) process.exit(EXIT_CODE_IMPATIENT);
    controller.abort(new InterruptedError(name));
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return {
    signal: controller.signal,
    stop: () => {
      process.off('SIGINT', onSignal);
      process.off('SIGTERM', onSignal);
    },
  };
}
