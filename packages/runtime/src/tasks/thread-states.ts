import type { TransitionTable } from '../state-machine.ts';

/**
 * Life of a stream thread, as Kafka Streams has it:
 *
 * ```
 *   CREATED ─start─▶ STARTING ─┬─revoked──▶ PARTITIONS_REVOKED ◀────revoked────┐
 *                              │                │    ▲                         │
 *                              │            assigned revoked                   │
 *                              │                ▼    │                         │
 *                              └─assigned─▶ PARTITIONS_ASSIGNED ──restored──▶ RUNNING
 *
 *   every one of them ──shutdown──▶ PENDING_SHUTDOWN ──stopped──▶ DEAD
 * ```
 */
export type ThreadState = (typeof threadStates)[number];

/** In Kafka Streams' order, which its metrics number them by. */
export const threadStates = [
  'CREATED',
  'STARTING',
  'PARTITIONS_REVOKED',
  'PARTITIONS_ASSIGNED',
  'RUNNING',
  'PENDING_SHUTDOWN',
  'DEAD',
] as const;

export type ThreadEvent = 'start' | 'revoked' | 'assigned' | 'restored' | 'shutdown' | 'stopped';

export const threadTransitions: TransitionTable<ThreadState, ThreadEvent> = {
  CREATED: { start: 'STARTING', shutdown: 'PENDING_SHUTDOWN' },
  STARTING: {
    revoked: 'PARTITIONS_REVOKED',
    assigned: 'PARTITIONS_ASSIGNED',
    shutdown: 'PENDING_SHUTDOWN',
  },
  PARTITIONS_REVOKED: {
    revoked: 'PARTITIONS_REVOKED',
    assigned: 'PARTITIONS_ASSIGNED',
    shutdown: 'PENDING_SHUTDOWN',
  },
  PARTITIONS_ASSIGNED: {
    revoked: 'PARTITIONS_REVOKED',
    assigned: 'PARTITIONS_ASSIGNED',
    restored: 'RUNNING',
    shutdown: 'PENDING_SHUTDOWN',
  },
  RUNNING: {
    revoked: 'PARTITIONS_REVOKED',
    assigned: 'PARTITIONS_ASSIGNED',
    restored: 'RUNNING',
    shutdown: 'PENDING_SHUTDOWN',
  },
  PENDING_SHUTDOWN: { shutdown: 'PENDING_SHUTDOWN', stopped: 'DEAD' },
  DEAD: {},
};
