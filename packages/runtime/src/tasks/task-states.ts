import type { TransitionTable } from '../state-machine.ts';

/**
 * Life of a task, as Kafka Streams has it:
 *
 * ```
 *              ┌────────────────────── revive ──────────────────────┐
 *              ▼                                                    │
 *           CREATED ──initialize──▶ RESTORING ──restored──▶ RUNNING │
 *              │                     ▲    │                    │    │
 *              │                 resume   │ suspend            │    │
 *              │                     │    ▼                    │    │
 *              └──────suspend──────▶ SUSPENDED ◀────suspend────┘    │
 *                                        │                          │
 *                                        └────close──▶ CLOSED ──────┘
 * ```
 *
 * A task is closed only from SUSPENDED: whoever closes a running one suspends it first, clean (after
 * a commit) or dirty (what is uncommitted is dropped and will be processed again).
 */
export type TaskState = 'CREATED' | 'RESTORING' | 'RUNNING' | 'SUSPENDED' | 'CLOSED';

export type TaskEvent = 'initialize' | 'restored' | 'suspend' | 'resume' | 'close' | 'revive';

export const taskTransitions: TransitionTable<TaskState, TaskEvent> = {
  CREATED: { initialize: 'RESTORING', suspend: 'SUSPENDED' },
  RESTORING: { restored: 'RUNNING', suspend: 'SUSPENDED' },
  RUNNING: { suspend: 'SUSPENDED' },
  SUSPENDED: { suspend: 'SUSPENDED', resume: 'RESTORING', close: 'CLOSED' },
  CLOSED: { close: 'CLOSED', revive: 'CREATED' },
};
