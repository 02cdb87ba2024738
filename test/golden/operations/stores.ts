import type { JsonObject, Operation } from '../case.ts';
import { serdeOf } from '../codec.ts';
import { call, exported, options, type Interpretation } from './interpretation.ts';

type Options = Readonly<Record<string, unknown>>;

/** `Materialized`: the store behind a table; empty if the operation names nothing of it. */
export function materialized(n: Operation): Options {
  const m = n['materialized'] as JsonObject | undefined;
  if (m === undefined) return options({ store: n['store'] });
  return options({
    store: m['as'],
    key: serdeOf(m['keySerde'] as string | undefined),
    value: serdeOf(m['valueSerde'] as string | undefined),
    logging: m['logging'],
    caching: m['caching'],
    retention: m['retentionMs'],
    supplier: supplier(m),
    // A window supplier is of a type itself.
    type: m['windowStore'] === undefined ? storeType(m['type']) : undefined,
  });
}

/** The kind of store, where the case names one. */
function supplier(m: JsonObject): unknown {
  const suppliers = (): unknown => exported('storeSuppliers');
  if (m['versionedMs'] !== undefined) {
    return call(
      suppliers(),
      'versioned',
      options({ historyRetention: m['versionedMs'], segmentInterval: m['segmentMs'] }),
    );
  }
  if (m['lru'] !== undefined) return call(suppliers(), 'lru', { maxEntries: m['lru'] });
  if (m['plainKeyValue'] === true) return call(suppliers(), 'keyValue', { timestamped: false });
  const window = m['windowStore'] as JsonObject | undefined;
  if (window !== undefined) {
    const size = { retention: window['retentionMs'], windowSize: window['sizeMs'] };
    return call(
      suppliers(),
      'window',
      options({ ...size, type: storeType(m['type'] ?? 'rocksDB') }),
    );
  }
  return undefined;
}

/** Kafka Streams' persistent stores are RocksDB's. */
function storeType(type: unknown): unknown {
  return type === 'rocksDB' ? 'persistent' : type;
}

/** A string key-value store for processors; logged and uncached unless the case says otherwise. */
export function addStateStore(on: Interpretation, n: Operation): null {
  const builder = call(
    exported('stores'),
    'keyValue',
    options({
      name: n['store'],
      key: serdeOf(n.keySerde ?? 'string'),
      value: serdeOf(n.valueSerde ?? 'string'),
      type: storeType(n['type']),
      timestamped: n['timestamped'] === true,
      logging: n['logging'],
      caching: n['caching'] ?? false,
    }),
  );
  call(on.builder, 'addStateStore', builder);
  return null;
}
