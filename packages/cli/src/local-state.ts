import type { LocalState } from '@millrace/runtime/cluster';
import { renderFields, renderTable } from './table.ts';
import type { Terminal } from './terminal.ts';
import { formatTime } from './times.ts';

/** The directory, and the tasks in it. */
export function printLocalState(localState: LocalState | null, terminal: Terminal): void {
  if (localState === null) {
    terminal.out('no local state');
    return;
  }
  const { directory, holder, isOurs, tasks, globalBytes } = localState;
  terminal.out(
    renderFields([
      ['local state', directory],
      ['in use by', holder ?? 'nobody'],
      ['global', globalBytes === null ? null : `${globalBytes} bytes`],
      ...(isOurs ? [] : ([['written by', 'another library']] as const)),
    ]),
  );
  if (tasks.length === 0) return;
  terminal.out('');
  terminal.out(
    renderTable(
      ['LOCAL TASK', 'BYTES', 'CHANGED'],
      tasks.map(({ task, bytes, modifiedMs }) => [task, bytes, formatTime(modifiedMs)]),
    ),
  );
}
