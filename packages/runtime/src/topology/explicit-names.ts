import { TopologyError } from '../errors.ts';

/**
 * What of a topology has a generated name, because the user gave none. Such names change with the
 * operators before them, and with them the topics that hold the state (KIP-1111).
 */
export class GeneratedNames {
  readonly #changelogs: string[] = [];
  readonly #stores: string[] = [];
  readonly #repartitionTopics: string[] = [];

  store(name: string, isLogged: boolean): void {
    this.#stores.push(name);
    if (isLogged) this.changelogOf(name);
  }

  /** For stores that are nobody's business but their operator's. */
  changelogOf(store: string): void {
    this.#changelogs.push(`${store}-changelog`);
  }

  repartitionTopic(name: string): void {
    this.#repartitionTopics.push(name);
  }

  /** `ensure.explicit.internal.resource.naming`: throws if there is anything. */
  refuse(): void {
    const kinds: readonly [string, readonly string[]][] = [
      ['changelog topic(s)', this.#changelogs],
      ['state store(s)', this.#stores],
      ['repartition topic(s)', this.#repartitionTopics],
    ];
    const lines = kinds
      .filter(([, names]) => names.length > 0)
      .map(([kind, names]) => `Following ${kind} has not been named: ${names.join(', ')}`);
    if (lines.length === 0) return;
    throw new TopologyError(
      `${lines.join('\n')}\nGive stores a name with the option "store", groupings, joins and repartitions one with ` +
        '"name", or set ensure.explicit.internal.resource.naming to false.',
    );
  }
}
