/** Topics and stores of the application under chaos. */
export const APPLICATION_ID = 'chaos';

/** `ACCOUNT` → see `order.ts`. */
export const ORDERS_TOPIC = 'chaos-orders';
/** `ACCOUNT` → the number of the row's change, from 1. */
export const ACCOUNTS_TOPIC = 'chaos-accounts';
export const INPUT_TOPICS = [ORDERS_TOPIC, ACCOUNTS_TOPIC] as const;

export const OUTPUT_TOPICS = {
  /** Each change of the table, as it was read. */
  accounts: 'chaos-accounts-seen',
  /** `ACCOUNT` → `ORDER/CHANGE`: each order with the row that it met. */
  joined: 'chaos-joined',
  /** `ACCOUNT` → how many orders it has had. */
  counted: 'chaos-counted',
  /** `SHOP` → `COUNT/ACCOUNT/ORDER`: how many orders it has had, and which was the last. */
  shops: 'chaos-shops',
  /** `SHOP@WINDOW START` → how many orders it has had in that window. */
  windows: 'chaos-windows',
} as const;
export type OutputName = keyof typeof OUTPUT_TOPICS;
export const outputNames = Object.keys(OUTPUT_TOPICS) as OutputName[];

export const storeNames = ['accounts', 'counted', 'shops', 'windows'] as const;
export type StoreName = (typeof storeNames)[number];

export const PARTITIONS = 4;
export const WINDOW_MS = 5_000;

export function changelogOf(store: StoreName): string {
  return `${APPLICATION_ID}-${store}-changelog`;
}
