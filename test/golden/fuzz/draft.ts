import type { Json, JsonObject, Operation } from '../case.ts';
import type { SeededRandom } from './random.ts';

export const STRINGS: JsonObject = { keySerde: 'string', valueSerde: 'string' };

/** A topology in the making: its operations, and what others may be built on. */
export class Draft {
  readonly random: SeededRandom;
  readonly operations: Operation[] = [];
  /** Ids of streams and tables with text keys and text values. */
  readonly streams: string[] = [];
  readonly tables: string[] = [];
  readonly globalTables: string[] = [];
  /** Those of the tables that are versioned. */
  readonly versioned = new Set<string>();
  readonly sources: string[] = [];
  #ids = 0;
  #names = 0;
  #stores = 0;
  #topics = 0;

  constructor(random: SeededRandom) {
    this.random = random;
  }

  /** Adds an operation and returns its id. */
  add(op: string, rest: Readonly<Record<string, Json | undefined>>): string {
    const id = `n${String(this.#ids++)}`;
    this.operations.push({ id, op, ...rest });
    return id;
  }

  sink(of: string, more: JsonObject = {}): void {
    this.operations.push({ op: 'to', of, topic: `out-${String(this.#topics++)}`, ...more });
  }

  newStore(): string {
    return `store-${String(this.#stores++)}`;
  }

  /** Sometimes a name. */
  named(): JsonObject {
    return this.random.oneIn(5) ? { name: `op-${String(this.#names++)}` } : {};
  }

  /** A name of a processor that `toChild` can call. */
  newName(): string {
    return `op-${String(this.#names++)}`;
  }

  /** Nothing, a store's name, or a store in detail. Texts need no serde: they are the default's. */
  stored(): JsonObject {
    const { random } = this;
    switch (random.weighted({ nothing: 4, name: 3, detail: 3 })) {
      case 'nothing':
        return {};
      case 'name':
        return { store: this.newStore() };
      default:
        return { materialized: this.#materialized({}) };
    }
  }

  /** Sometimes with a store in detail, and always with serdes for texts. */
  typed(): JsonObject {
    return { materialized: this.#materialized(STRINGS) };
  }

  #materialized(serdes: JsonObject): JsonObject {
    const { random } = this;
    return {
      ...(random.oneIn(2) || Object.keys(serdes).length === 0 ? { as: this.newStore() } : {}),
      ...serdes,
      ...(random.oneIn(6) ? { type: random.pick(['inMemory', 'rocksDB']) } : {}),
      ...(random.oneIn(5) ? { caching: random.oneIn(2) } : {}),
      ...(random.oneIn(8) ? { logging: false } : {}),
    };
  }

  isUsed(id: string): boolean {
    return this.operations.some((n) => n.of === id || n['with'] === id);
  }
}
