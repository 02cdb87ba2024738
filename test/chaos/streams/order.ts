/** An order of an account in a shop; accounts and shops are keys, `number` counts an account's orders from 1. */
export interface Order {
  readonly number: number;
  readonly shop: string;
}

export function encodeOrder({ number, shop }: Order): string {
  return `${number}/${shop}`;
}

export function decodeOrder(text: string): Order {
  const [number, shop = ''] = text.split('/');
  return { number: Number(number), shop };
}

/** What a shop has had so far. */
export interface ShopState {
  readonly count: number;
  /** The last one. */
  readonly account: string;
  readonly order: number;
}

export function encodeShop({ count, account, order }: ShopState): string {
  return `${count}/${account}/${order}`;
}

export function decodeShop(text: string): ShopState {
  const [count, account = '', order] = text.split('/');
  return { count: Number(count), account, order: Number(order) };
}

/** An order that has met its account's row. */
export interface JoinedOrder {
  readonly order: number;
  /** Which of the row's changes it has met. */
  readonly change: number;
}

export function encodeJoined({ order, change }: JoinedOrder): string {
  return `${order}/${change}`;
}

export function decodeJoined(text: string): JoinedOrder {
  const [order, change] = text.split('/').map(Number);
  return { order: order as number, change: change as number };
}

/** Key of the rows of `windows` in the output. */
export function windowKey(shop: string, windowStart: number): string {
  return `${shop}@${windowStart}`;
}
