import type { TransitionTable } from '../state-machine.ts';

/**
 * Life of the thread that keeps the global stores, as Kafka Streams has it:
 *
 * ```
 *   CREATED ──restored──▶ RUNNING
 *      │                     │
 *      └──────shutdown───────┴──▶ PENDING_SHUTDOWN ──stopped──▶ DEAD
 * ```
 */
export type GlobalThreadState = 'CREATED' | 'RUNNING' | 'PENDING_SHUTDOWN' | 'DEAD';

export type GlobalThreadEvent = 'restored' | 'shutdown' | 'stopped';

export const globalThreadTransitions: TransitionTable<GlobalThreadState, GlobalThreadEvent> = {
  CREATED: { restored: 'RUNNING', shutdown: 'PENDING_SHUTDOWN' },
  RUNNING: { restored: 'RUNNING', shutdown: 'PENDING_SHUTDOWN' },
  PENDING_SHUTDOWN: { shutdown: 'PENDING_SHUTDOWN', stopped: 'DEAD' },
  DEAD: {},
};
