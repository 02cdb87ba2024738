import {
  type KeyValueStore,
  type Processor,
  type ProcessorContext,
  type StreamRecord,
  stores,
  StreamsBuilder,
  type Topology,
} from '@millrace/runtime';
import type { Entry, Lab } from './lab.ts';
import { eventually } from './lab.ts';
import { texts } from './topologies.ts';

const ASK = '?';

/** By store: what is in it. */
export type Contents = Readonly<Record<string, Readonly<Record<string, string>>>>;

class Shelf implements Processor<string, string> {
  readonly #names: readonly string[];
  #context: ProcessorContext<string, string> | null = null;
  #stores: KeyValueStore<string, string>[] = [];

  constructor(names: readonly string[]) {
    this.#names = names;
  }

  init(context: ProcessorContext<string, string>): void {
    this.#context = context;
    this.#stores = this.#names.map((name) => context.getStateStore(shelfStore(name)));
  }

  process(record: StreamRecord<string, string>): unknown {
    if (record.key !== ASK) {
      for (const store of this.#stores) store.put(record.key, record.value, record.timestamp);
      return undefined;
    }
    const contents = this.#stores.map((store) => [
      store.name,
      Object.fromEntries([...store.all()].map(({ key, value }) => [key, value])),
    ]);
    return this.#context?.forward(
      record.withKey(record.value).withValue(JSON.stringify(Object.fromEntries(contents))),
    );
  }
}

const shelfStore = (name: string) => stores.keyValue<string, string>({ name, ...texts });

/** Puts each record of `in` into these stores, on disk, and answers on `out` with what is in them. */
export function shelf(...names: string[]): Topology {
  const builder = new StreamsBuilder();
  for (const name of names) builder.addStateStore(shelfStore(name));
  builder
    .stream('in', texts)
    .process(() => new Shelf(names), { stores: names })
    .to('out', texts);
  return builder.build();
}

let asked = 0;

/** What the application has in its stores once it has processed all that was written before. */
export async function contentsOf(lab: Lab): Promise<Contents> {
  const id = `question-${String(asked++)}`;
  await lab.write('in', [[ASK, id]], { partition: 0 });
  const find = async () => (await lab.read('out')).find(({ key }) => key === id);
  await eventually(async () => (await find()) !== undefined);
  return JSON.parse((await find())?.value ?? '{}') as Contents;
}

export function numbered(from: number, to: number, prefix = 'v'): Entry[] {
  return Array.from({ length: to - from }, (_, i) => [
    `k${String(from + i)}`,
    `${prefix}${String(from + i)}`,
  ]);
}

export function objectOf(entries: readonly Entry[]): Record<string, string> {
  const contents: Record<string, string> = {};
  for (const [key, value] of entries) if (value !== null) contents[key] = value;
  return contents;
}
