import { readTopic, serdes, type StreamsClient } from '@millrace/runtime';
import type { Findings } from './findings.ts';
import type { Model } from './model.ts';
import { decodeShop, windowKey } from './order.ts';
import type { Results } from './results.ts';
import { changelogOf, storeNames, type StoreName } from './topics.ts';

/** After the key, in the key of a windowed row: the window's start and a number that is 0 here. */
const WINDOW_SUFFIX_BYTES = 12;
const LONG_BYTES = 8;
const STALL_TIMEOUT_MS = 30_000;

interface Row {
  readonly count: number;
  readonly text: string;
}

/**
 * Holds the last committed value of every row in every changelog against the model. Counts only grow; where
 * nothing is compacted away each record goes on from the one before.
 */
export async function checkChangelogs(
  client: StreamsClient,
  model: Model,
  results: Results,
  findings: Findings,
  { isCompacted }: { readonly isCompacted: boolean },
): Promise<void> {
  for (const store of storeNames) {
    const rows = await read(client, store, findings, isCompacted);
    const expected = expectedRows(store, model);
    for (const [key, count] of expected) {
      const row = rows.get(key);
      rows.delete(key);
      if (row?.count === count) continue;
      const what = `${changelogOf(store)}, ${key}: ${row?.text ?? 'nothing'} where ${count} should be`;
      findings.add((row?.count ?? 0) < count ? 'lost' : 'duplicated', what);
    }
    for (const [key, { text }] of rows) {
      findings.add('wrong', `${changelogOf(store)}, ${key}: ${text} where nothing should be`);
    }
    if (store === 'shops')
      compareShops(
        expected.keys(),
        await read(client, store, null, isCompacted),
        results,
        findings,
      );
  }
}

/** A shop's row also says which order was its last, as the output does. */
function compareShops(
  shops: Iterable<string>,
  rows: ReadonlyMap<string, Row>,
  results: Results,
  findings: Findings,
): void {
  for (const shop of shops) {
    const [inChangelog, inOutput] = [rows.get(shop)?.text, results.shopValues.get(shop)];
    if (inChangelog === inOutput) continue;
    findings.add(
      'wrong',
      `${changelogOf('shops')}, ${shop}: ${String(inChangelog)}, and ${String(inOutput)} in the output`,
    );
  }
}

function expectedRows(store: StoreName, model: Model): ReadonlyMap<string, number> {
  switch (store) {
    case 'accounts':
      return new Map(model.accounts.map((account) => [account, model.changeOf(account)]));
    case 'counted':
      return new Map(model.accounts.map((account) => [account, model.ordersOf(account)]));
    case 'shops':
      return model.shopCounts;
    case 'windows':
      return model.windowCounts;
  }
}

async function read(
  client: StreamsClient,
  store: StoreName,
  findings: Findings | null,
  isCompacted: boolean,
): Promise<Map<string, Row>> {
  const topic = changelogOf(store);
  const rows = new Map<string, Row>();
  const bytes = serdes.bytes();
  const records = readTopic(client, {
    topic,
    key: bytes,
    value: bytes,
    stallTimeoutMs: STALL_TIMEOUT_MS,
  });
  for await (const some of records) {
    for (const { partition, offset, key, value } of some) {
      const name = nameOf(store, Buffer.from(key ?? []));
      const row = rowOf(store, Buffer.from(value ?? []));
      const last = rows.get(name)?.count ?? 0;
      if (isCompacted ? row.count <= last : row.count !== last + 1) {
        findings?.add(
          row.count <= last ? 'duplicated' : 'lost',
          `${topic}-${partition} at ${offset}, ${name}: ${row.count} comes after ${last}`,
        );
      }
      rows.set(name, row);
    }
  }
  return rows;
}

function nameOf(store: StoreName, key: Buffer): string {
  if (store !== 'windows') return key.toString();
  const end = key.length - WINDOW_SUFFIX_BYTES;
  return windowKey(key.toString('utf8', 0, end), Number(key.readBigInt64BE(end)));
}

function rowOf(store: StoreName, value: Buffer): Row {
  if (store === 'counted' || store === 'windows') {
    const count = value.length === LONG_BYTES ? Number(value.readBigInt64BE(0)) : Number.NaN;
    return { count, text: String(count) };
  }
  const text = value.toString();
  return { count: store === 'shops' ? decodeShop(text).count : Number(text), text };
}
