import type { Expirable } from './expiry.ts';
import type { MapKey } from './key-codec.ts';
import { VersionHistory } from './version-history.ts';

/** The history of one key in memory. */
export class KeyHistory<K> extends VersionHistory implements Expirable {
  readonly key: K;
  readonly mapKey: MapKey;

  constructor(key: K, mapKey: MapKey) {
    super();
    this.key = key;
    this.mapKey = mapKey;
  }
}
