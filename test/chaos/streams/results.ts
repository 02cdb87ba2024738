import type { Findings } from './findings.ts';
import type { Model } from './model.ts';
import { decodeJoined, decodeShop } from './order.ts';
import { OUTPUT_TOPICS, type OutputName } from './topics.ts';

/** One committed record of an output, as a reader gets it. */
export interface Result {
  readonly partition: number;
  readonly offset: bigint;
  readonly key: string;
  readonly value: string | number;
}

/** Holds each result against what must come next for its key, the moment it is read. */
export class Results {
  readonly #model: Model;
  readonly #findings: Findings;
  /** By output and key: the last count. */
  readonly #counts: Record<OutputName, Map<string, number>> = {
    accounts: new Map(),
    joined: new Map(),
    counted: new Map(),
    shops: new Map(),
    windows: new Map(),
  };
  /** By shop and account: the last order that the shop has counted. */
  readonly #lastOrders = new Map<string, number>();
  readonly #lastShopValues = new Map<string, string>();
  /** `ACCOUNT/ORDER` of those that shops have counted. */
  readonly #inShops = new Set<string>();
  #total = 0;

  constructor(model: Model, findings: Findings) {
    this.#model = model;
    this.#findings = findings;
  }

  get total(): number {
    return this.#total;
  }

  /** How many there must be of what is written so far. */
  get expectedTotal(): number {
    return this.#model.orderCount * 4 + this.#model.changeCount;
  }

  /** The last order of an account that was joined. */
  joinedUpTo(account: string): number {
    return this.#counts.joined.get(account) ?? 0;
  }

  /** The last change of an account's row that was seen. */
  changeOf(account: string): number {
    return this.#counts.accounts.get(account) ?? 0;
  }

  /** The last value of each shop's row. */
  get shopValues(): ReadonlyMap<string, string> {
    return this.#lastShopValues;
  }

  see(output: OutputName, result: Result): void {
    this.#total++;
    const { key, value } = result;
    const where = `${OUTPUT_TOPICS[output]}-${result.partition} at ${result.offset}, ${key}`;
    switch (output) {
      case 'accounts':
      case 'counted':
      case 'windows':
        this.#count(output, where, key, Number(value));
        return;
      case 'joined': {
        const { order, change } = decodeJoined(String(value));
        this.#count(output, where, key, order);
        const expected = this.#model.changeOfOrder(key, order);
        if (change === expected) return;
        this.#findings.add(
          'wrong',
          `${where}: order ${order} met change ${change} of its row, not ${expected}`,
        );
        return;
      }
      case 'shops': {
        const { count, account, order } = decodeShop(String(value));
        this.#count(output, where, key, count);
        this.#lastShopValues.set(key, String(value));
        this.#seeInShop(where, key, account, order);
      }
    }
  }

  /** What the model has and no result had. */
  findMissing(): void {
    const { accounts, shopCounts, windowCounts } = this.#model;
    for (const account of accounts) {
      this.#expectLast('joined', account, this.#model.ordersOf(account));
      this.#expectLast('counted', account, this.#model.ordersOf(account));
      this.#expectLast('accounts', account, this.#model.changeOf(account));
      for (let order = 1; order <= this.#model.ordersOf(account); order++) {
        if (this.#inShops.has(`${account}/${order}`)) continue;
        this.#findings.add('lost', `no shop has counted order ${order} of ${account}`);
      }
    }
    for (const [shop, count] of shopCounts) this.#expectLast('shops', shop, count);
    for (const [window, count] of windowCounts) this.#expectLast('windows', window, count);
  }

  #expectLast(output: OutputName, key: string, expected: number): void {
    const last = this.#counts[output].get(key) ?? 0;
    if (last === expected) return;
    this.#findings.add(
      last < expected ? 'lost' : 'duplicated',
      `${OUTPUT_TOPICS[output]}, ${key}: ends with ${last}, not ${expected}`,
    );
  }

  #count(output: OutputName, where: string, key: string, count: number): void {
    const counts = this.#counts[output];
    const last = counts.get(key) ?? 0;
    if (count !== last + 1) {
      this.#findings.add(
        count > last ? 'lost' : 'duplicated',
        `${where}: ${count} comes after ${last}`,
      );
    }
    counts.set(key, count);
  }

  #seeInShop(where: string, shop: string, account: string, order: number): void {
    const name = `${account}/${order}`;
    if (this.#model.changeOfOrder(account, order) === undefined) {
      this.#findings.add('wrong', `${where}: nobody wrote ${name}`);
    }
    if (this.#inShops.has(name)) {
      this.#findings.add('duplicated', `${where}: ${name} was counted before`);
    }
    this.#inShops.add(name);
    const key = `${shop} ${account}`;
    const last = this.#lastOrders.get(key) ?? 0;
    if (order <= last) {
      this.#findings.add('out of order', `${where}: ${name} was counted after ${account}/${last}`);
    }
    this.#lastOrders.set(key, Math.max(order, last));
  }
}
