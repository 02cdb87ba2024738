import { serdes, TopicWriter, type StreamsClient } from '@millrace/runtime';
import type { Findings } from './findings.ts';
import type { Model } from './model.ts';
import { encodeOrder } from './order.ts';
import type { Results } from './results.ts';
import { ACCOUNTS_TOPIC, ORDERS_TOPIC } from './topics.ts';
import { until, within } from './within.ts';

const TICK_MS = 20;
const FLUSH_DEADLINE_MS = 90_000;
/** So many orders may be without all of their results. */
const BACKLOG_ORDERS = 5_000;
/** Accounts take turns in changing their rows. */
const COHORTS = 3;
/** Between two changes, ms. */
const FLOW_MS = 1_500;

type Turn =
  | { readonly is: 'flowing'; readonly untilMs: number }
  /** No more orders of the cohort until those that are there are joined. */
  | { readonly is: 'draining' }
  /** No orders of the cohort until the new rows are read. */
  | { readonly is: 'changing' };

/**
 * Writes orders at a steady rate, and changes rows of the table meanwhile. Which row an order meets is known in
 * advance, although nobody knows which of two topics is read first: an account that is to change has no orders
 * until the change was seen, and no change before its orders were joined.
 */
export class Feed {
  readonly #model: Model;
  readonly #results: Results;
  readonly #orders: TopicWriter<string, string>;
  readonly #accounts: TopicWriter<string, string>;
  readonly #rate: number;
  #timer: NodeJS.Timeout | null = null;
  #turn: Turn = { is: 'flowing', untilMs: 0 };
  #cohort = 0;
  #next = 0;
  #due = 0;
  #lastMs = 0;

  private constructor(
    model: Model,
    results: Results,
    orders: TopicWriter<string, string>,
    accounts: TopicWriter<string, string>,
    ordersPerSecond: number,
  ) {
    this.#model = model;
    this.#results = results;
    this.#orders = orders;
    this.#accounts = accounts;
    this.#rate = ordersPerSecond / 1_000;
  }

  static async open(
    client: StreamsClient,
    model: Model,
    results: Results,
    findings: Findings,
    ordersPerSecond: number,
  ): Promise<Feed> {
    const text = serdes.string();
    const open = (topic: string): Promise<TopicWriter<string, string>> =>
      TopicWriter.open(client, {
        topic,
        key: text,
        value: text,
        lingerMs: 5,
        onUndelivered: ({ error }) => {
          findings.add('broken', `the input could not be written: ${String(error)}`);
          return error;
        },
      });
    const [orders, accounts] = await Promise.all([open(ORDERS_TOPIC), open(ACCOUNTS_TOPIC)]);
    return new Feed(model, results, orders, accounts, ordersPerSecond);
  }

  /** Every account gets its first row, and orders begin to flow once these are seen. */
  async start(): Promise<void> {
    this.#change(this.#model.accounts);
    await until(FLUSH_DEADLINE_MS, () => this.#isSeen(this.#model.accounts), 'the first rows');
    this.#lastMs = performance.now();
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
  }

  /** All that was written is acknowledged. */
  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    const flushed = Promise.all([this.#orders.flush(), this.#accounts.flush()]);
    await within(FLUSH_DEADLINE_MS, flushed, 'the acknowledgement of the input');
  }

  /** One more order into each row of each store: what comes out tells what was in there. */
  async probe(): Promise<void> {
    const { accounts } = this.#model;
    const account = (): string => accounts[this.#next++ % accounts.length] as string;
    for (const window of [...this.#model.windowCounts.keys()]) {
      const [shop, start] = window.split('@');
      this.#order(account(), Number(start) + 1, shop);
    }
    for (const each of accounts) this.#order(each, Date.now());
    await this.stop();
  }

  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    await Promise.all([this.#orders.close(1_000), this.#accounts.close(1_000)]);
  }

  #tick(): void {
    const nowMs = performance.now();
    this.#due = Math.min(this.#due + (nowMs - this.#lastMs) * this.#rate, BACKLOG_ORDERS);
    this.#lastMs = nowMs;
    this.#takeTurn(nowMs);
    const backlog = (this.#results.expectedTotal - this.#results.total) / 4;
    const { accounts } = this.#model;
    const count = Math.min(this.#due, BACKLOG_ORDERS - backlog);
    for (let i = 1; i <= count; i++) {
      if (this.#orders.isFull) return;
      const index = this.#next++ % accounts.length;
      if (this.#turn.is === 'flowing' || index % COHORTS !== this.#cohort) {
        this.#order(accounts[index] as string, Date.now());
      }
      this.#due--;
    }
  }

  #takeTurn(nowMs: number): void {
    const cohort = this.#model.accounts.filter((_, index) => index % COHORTS === this.#cohort);
    switch (this.#turn.is) {
      case 'flowing':
        if (nowMs >= this.#turn.untilMs) this.#turn = { is: 'draining' };
        return;
      case 'draining':
        if (cohort.some((one) => this.#results.joinedUpTo(one) < this.#model.ordersOf(one))) return;
        this.#change(cohort);
        this.#turn = { is: 'changing' };
        return;
      case 'changing':
        if (!this.#isSeen(cohort)) return;
        this.#cohort = (this.#cohort + 1) % COHORTS;
        this.#turn = { is: 'flowing', untilMs: nowMs + FLOW_MS };
    }
  }

  #change(accounts: readonly string[]): void {
    const timestamp = Date.now();
    for (const account of accounts) {
      this.#accounts.send(account, String(this.#model.change(account)), { timestamp });
    }
  }

  #isSeen(accounts: readonly string[]): boolean {
    return accounts.every((one) => this.#results.changeOf(one) >= this.#model.changeOf(one));
  }

  #order(account: string, timestamp: number, shop?: string): void {
    const order = this.#model.order(account, timestamp, shop);
    this.#orders.send(account, encodeOrder(order), { timestamp });
  }
}
