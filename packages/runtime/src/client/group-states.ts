/**
 * A member's life:
 *
 *            join()              answered             assigned
 *     idle ─────────▶ joining ─────────────▶ syncing ──────────▶ stable
 *                      ▲  ▲ ▲                   │                   │
 *                      │  │ └───────────────────┘ refused           │ rejoin, rebalance, lost
 *                      │  └───────────────────────────── revoking ◀─┘
 *                      │                                    (onRebalance or onLost is awaited)
 *
 *     any of them ──leave()──▶ leaving ──▶ left          any of them ──no remedy──▶ failed ──▶ leaving
 */
export type MemberState =
  'idle' | 'joining' | 'syncing' | 'stable' | 'revoking' | 'leaving' | 'left' | 'failed';

export const memberTransitions: Readonly<Record<MemberState, readonly MemberState[]>> = {
  idle: ['joining', 'leaving'],
  joining: ['syncing', 'joining', 'leaving', 'failed'],
  syncing: ['stable', 'joining', 'revoking', 'leaving', 'failed'],
  stable: ['revoking', 'leaving', 'failed'],
  revoking: ['joining', 'leaving', 'failed'],
  failed: ['leaving'],
  leaving: ['left'],
  left: [],
};
