import type { Order } from './order.ts';
import { windowKey } from './order.ts';
import { WINDOW_MS } from './topics.ts';

interface Account {
  /** Which change of its row each order is to meet; index: its number - 1. */
  readonly changes: number[];
  /** The newest change of its row. */
  change: number;
}

/** What must have come out when all that was written is processed once, in order. */
export class Model {
  readonly accounts: readonly string[];
  readonly shops: readonly string[];
  readonly #accounts = new Map<string, Account>();
  readonly #shops = new Map<string, number>();
  readonly #windows = new Map<string, number>();
  #orderCount = 0;
  #changeCount = 0;

  constructor(accountCount: number, shopCount: number) {
    const names = (prefix: string, count: number): string[] =>
      Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
    this.accounts = names('account', accountCount);
    this.shops = names('shop', shopCount);
    for (const account of this.accounts) this.#accounts.set(account, { changes: [], change: 0 });
  }

  get orderCount(): number {
    return this.#orderCount;
  }

  get changeCount(): number {
    return this.#changeCount;
  }

  /** By shop: how many orders. */
  get shopCounts(): ReadonlyMap<string, number> {
    return this.#shops;
  }

  /** By `windowKey`: how many orders. */
  get windowCounts(): ReadonlyMap<string, number> {
    return this.#windows;
  }

  ordersOf(account: string): number {
    return this.#of(account).changes.length;
  }

  changeOf(account: string): number {
    return this.#of(account).change;
  }

  /** Which change of its account's row the order is to meet; undefined: there is no such order. */
  changeOfOrder(account: string, number: number): number | undefined {
    return this.#accounts.get(account)?.changes[number - 1];
  }

  /** The row changes; returns its new value. */
  change(account: string): number {
    this.#changeCount++;
    return ++this.#of(account).change;
  }

  /** The account's next order; it goes to a shop that is drawn from its number, unless one is given. */
  order(account: string, timestamp: number, given?: string): Order {
    const { changes, change } = this.#of(account);
    changes.push(change);
    const number = changes.length;
    const shop = given ?? this.#shopFor(account, number);
    this.#orderCount++;
    count(this.#shops, shop);
    count(this.#windows, windowKey(shop, timestamp - (timestamp % WINDOW_MS)));
    return { number, shop };
  }

  #shopFor(account: string, number: number): string {
    const index = this.accounts.indexOf(account) * 7 + number * 13;
    return this.shops[index % this.shops.length] as string;
  }

  #of(account: string): Account {
    const found = this.#accounts.get(account);
    if (found === undefined) throw new Error(`no account ${account}`);
    return found;
  }
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
