import { serdes, StreamsBuilder, timeWindows, type Topology } from '@millrace/runtime';
import { decodeOrder, decodeShop, encodeJoined, encodeShop, windowKey } from './order.ts';
import { Trouble } from './trouble.ts';
import {
  ACCOUNTS_TOPIC,
  ORDERS_TOPIC,
  OUTPUT_TOPICS,
  WINDOW_MS,
  type StoreName,
} from './topics.ts';

export type StoreTypes = Readonly<Record<StoreName, 'inMemory' | 'persistent'>>;

/** Small segments, so that what is not the newest is compacted during the run, where the broker does that. */
const CHANGELOG_CONFIG = {
  'cleanup.policy': 'compact',
  'segment.bytes': '1048576',
  'segment.ms': '3000',
  'min.cleanable.dirty.ratio': '0.01',
  'max.compaction.lag.ms': '4000',
  'delete.retention.ms': '1000',
};

const text = serdes.string();
const count = serdes.long();

/**
 * Re-keying, a join with a table, a count per key, one per window and an aggregation that remembers what it
 * was told last, so that each result says which record it is about:
 *
 *   accounts ─ table ─┬──────────────────────────────────────────────── accounts-seen
 *   orders ──┬─ join ─┴──────────────────────────────────────────────── joined
 *            ├─ count ─────────────────────────────────────────────────── counted
 *            └─ selectKey(shop) ─ [by-shop] ─┬─ aggregate ─────────────── shops
 *                                            └─ count per window ──────── windows
 *
 * No store has a record cache: each record is one result in each. Some records fail once, before and behind the
 * repartition topic, and some are asynchronous.
 */
export function chaosTopology(types: StoreTypes): Topology {
  const trouble = new Trouble();
  const builder = new StreamsBuilder();
  const store = (name: StoreName) => ({
    store: name,
    type: types[name],
    logging: CHANGELOG_CONFIG,
    caching: false,
  });
  const accounts = builder.table(ACCOUNTS_TOPIC, { key: text, value: text, ...store('accounts') });
  accounts.toStream().to(OUTPUT_TOPICS.accounts, { key: text, value: text });

  const orders = builder
    .stream(ORDERS_TOPIC, { key: text, value: text })
    .peek((account, order) => trouble.maybeFail('orders', account, decodeOrder(order).number));
  orders
    .join(accounts, (order, change) =>
      encodeJoined({ order: decodeOrder(order).number, change: Number(change) }),
    )
    .to(OUTPUT_TOPICS.joined, { key: text, value: text });
  orders
    .groupByKey({ key: text, value: text })
    .count({ ...store('counted') })
    .toStream()
    .to(OUTPUT_TOPICS.counted, { key: text, value: count });

  const byShop = orders
    .map((account, order) => {
      const { number, shop } = decodeOrder(order);
      const result: [string, string] = [shop, `${account}/${number}`];
      return trouble.maybeWait(account, number, result);
    })
    .groupByKey({ name: 'by-shop', key: text, value: text });
  byShop
    .aggregate(
      () => encodeShop({ count: 0, account: '', order: 0 }),
      (_shop, value, before) => {
        const [account = '', order] = value.split('/');
        trouble.maybeFail('shops', account, Number(order));
        return encodeShop({ count: decodeShop(before).count + 1, account, order: Number(order) });
      },
      { ...store('shops'), value: text },
    )
    .toStream()
    .to(OUTPUT_TOPICS.shops, { key: text, value: text });
  byShop
    // Nothing comes too late: the last records go into the first windows.
    .windowedBy(timeWindows({ size: WINDOW_MS, grace: '1d' }))
    .count({ ...store('windows') })
    .toStream()
    .map(({ key, start }, value) => [windowKey(key, start), value])
    .to(OUTPUT_TOPICS.windows, { key: text, value: count });
  return builder.build();
}
