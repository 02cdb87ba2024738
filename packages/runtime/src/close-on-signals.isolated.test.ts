import { afterEach, describe, expect, it } from 'vitest';
import { closeOnSignals, type Closable } from './close-on-signals.ts';
import { settle } from './testing-support/fake-clock.ts';
import type { CloseOptions } from './kafka-streams-options.ts';

const listeners = (): number => process.listenerCount('SIGTERM') + process.listenerCount('SIGINT');

class Application implements Closable {
  readonly closes: CloseOptions[] = [];
  answer: Promise<boolean> = Promise.resolve(true);

  close(options: CloseOptions = {}): Promise<boolean> {
    this.closes.push(options);
    return this.answer;
  }
}

describe('closeOnSignals', () => {
  afterEach(() => {
    process.exitCode = undefined;
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('closes on %s, and listens no longer', async (signal) => {
    const before = listeners();
    const application = new Application();
    const events: string[] = [];
    closeOnSignals(application, { timeoutMs: 5_000, onClosed: () => events.push('closed') });
    expect(listeners()).toBe(before + 2);
    process.emit(signal, signal);
    // A second signal is nobody's any more, and ends the process.
    expect(listeners()).toBe(before);
    await settle();
    expect(application.closes).toEqual([{ timeoutMs: 5_000 }]);
    expect(events).toEqual(['closed']);
    expect(process.exitCode).toBeUndefined();
  });

  it('leaves exit code 1 when something was left undone, or could not be closed', async () => {
    const application = new Application();
    application.answer = Promise.resolve(false);
    closeOnSignals(application);
    process.emit('SIGTERM', 'SIGTERM');
    await settle();
    expect(process.exitCode).toBe(1);

    process.exitCode = undefined;
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on('warning', onWarning);
    closeOnSignals(new Application(), {
      signals: ['SIGHUP'],
      onClosed: () => Promise.reject(new Error('the server does not close')),
    });
    process.emit('SIGHUP', 'SIGHUP');
    await settle();
    process.removeListener('warning', onWarning);
    expect(process.exitCode).toBe(1);
    expect(warnings.map(({ message }) => message)).toEqual(['the server does not close']);
  });

  it('closes nothing once it was told to listen no longer', () => {
    const before = listeners();
    const application = new Application();
    const stop = closeOnSignals(application);
    stop();
    expect(listeners()).toBe(before);
    expect(application.closes).toEqual([]);
  });
});
