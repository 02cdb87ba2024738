import type { Logger } from '@millrace/compaction';
import { messageOf } from './errors.ts';
import type { Terminal } from './terminal.ts';

const nothing = (): void => undefined;

/** What the log store has to say, from warnings on, in a line of text on stderr. */
export function terminalLogger(terminal: Terminal): Logger {
  const tell = (context: object, message: string): void => {
    const details = Object.entries(context)
      .map(
        ([name, value]) => `${name}=${value instanceof Error ? messageOf(value) : String(value)}`,
      )
      .join(', ');
    terminal.err(`millrace: ${message}${details === '' ? '' : ` (${details})`}`);
  };
  return { debug: nothing, info: nothing, warn: tell, error: tell };
}
