import { keyValueView } from './store-view.ts';
import type { TableSource, TableView } from './table.ts';
import {
  JoinGetter,
  type TableJoin,
  type TableJoiner,
  type TableJoinKind,
} from './table-join-getter.ts';

export type { TableJoiner, TableJoinKind } from './table-join-getter.ts';

/** One of the two tables as the join's nodes see it. */
export class JoinInput<K, V> {
  readonly source: TableSource<K, V>;
  readonly view: TableView<K, V>;
  /** The table is versioned (KIP-914): its late changes are not joined. */
  isVersioned = false;

  constructor(source: TableSource<K, V>) {
    this.source = source;
    this.view = source.view();
  }
}

/** What the result of a table-table join is to other operators, and what its three nodes share. */
export class JoinedTable<K, L, R, VR> implements TableSource<K, VR>, TableJoin<K, L, R, VR> {
  readonly kind: TableJoinKind;
  readonly left: JoinInput<K, L>;
  readonly right: JoinInput<K, R>;
  readonly joiner: TableJoiner<K, L, R, VR>;
  readonly storeName: string | null;
  sendsOldValues = false;

  constructor(
    kind: TableJoinKind,
    left: TableSource<K, L>,
    right: TableSource<K, R>,
    joiner: TableJoiner<K, L, R, VR>,
    storeName: string | null,
  ) {
    this.kind = kind;
    // An outer side tells by the old value whether a deleted row had a result.
    if (kind !== 'inner') left.enableSendingOldValues(true);
    if (kind === 'outer') right.enableSendingOldValues(true);
    this.left = new JoinInput(left);
    this.right = new JoinInput(right);
    this.joiner = joiner;
    this.storeName = storeName;
  }

  view(): TableView<K, VR> {
    if (this.storeName !== null) return keyValueView(this.storeName);
    const { left, right } = this;
    return {
      storeNames: [...new Set([...left.view.storeNames, ...right.view.storeNames])],
      create: () => new JoinGetter(this, left.view.create(), right.view.create()),
    };
  }

  enableSendingOldValues(_mustMaterialize: boolean): boolean {
    this.left.source.enableSendingOldValues(true);
    this.right.source.enableSendingOldValues(true);
    this.sendsOldValues = true;
    return true;
  }
}
