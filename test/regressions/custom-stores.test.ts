/** Stores of the user's own, through the public interfaces: logged, restored, and on disk in files of theirs. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type FixedKeyProcessorContext,
  type FixedKeyRecord,
  type PartitionAppender,
  type RecordCursor,
  serdes,
  type StateStore,
  type StoreBuilder,
  type StoreContext,
  stores,
  StreamsBuilder,
  type StreamsConfigInput,
  type Topology,
} from '@millrace/runtime';
import { afterEach, describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { type Entry, eventually, Lab, type Running } from './lab.ts';
import { texts } from './topologies.ts';

const present = serdes.string();

/** A set of words in memory. */
class WordSet implements StateStore {
  readonly name: string;
  readonly isPersistent: boolean = false;
  isOpen = false;
  protected words = new Set<string>();
  #changelog: PartitionAppender | null = null;

  constructor(name: string) {
    this.name = name;
  }

  open(_context: StoreContext, changelog: PartitionAppender | null): void {
    this.#changelog = changelog;
    this.isOpen = true;
  }

  restore({ buffer, keyStart, keyEnd, valueStart }: RecordCursor): void {
    const word = buffer.toString('utf8', keyStart, keyEnd);
    if (valueStart < 0) this.words.delete(word);
    else this.words.add(word);
  }

  committedOffset(): bigint | null {
    return null;
  }

  commit(_changelogOffset: bigint | null): void {}

  close(): void {
    this.words.clear();
    this.isOpen = false;
  }

  has(word: string): boolean {
    return this.words.has(word);
  }

  set(word: string, isThere: boolean, timestamp: number): void {
    const key = Buffer.from(word);
    const value = isThere ? 'y' : null;
    this.#changelog?.append(timestamp, key, 0, key.length, value, present, null);
    if (isThere) this.words.add(word);
    else this.words.delete(word);
  }
}

/** The same, written as a whole to a file at each commit, with the changelog offset that it stands at. */
class WordFile extends WordSet {
  override readonly isPersistent = true;
  #path = '';
  #offset: bigint | null = null;

  override open(context: StoreContext, changelog: PartitionAppender | null): void {
    super.open(context, changelog);
    this.#path = join(context.directoryOf?.(this.name) ?? '', 'words.json');
    if (!existsSync(this.#path)) return;
    const { offset, words } = JSON.parse(readFileSync(this.#path, 'utf8')) as {
      offset: string;
      words: string[];
    };
    this.#offset = BigInt(offset);
    this.words = new Set(words);
  }

  override committedOffset(): bigint | null {
    return this.#offset;
  }

  override commit(changelogOffset: bigint | null): void {
    if (changelogOffset === null || changelogOffset === this.#offset) return;
    this.#offset = changelogOffset;
    const contents = { offset: changelogOffset.toString(), words: [...this.words] };
    writeFileSync(this.#path, JSON.stringify(contents));
  }
}

function wordStore(name: string, isInFile: boolean): StoreBuilder<WordSet> {
  return {
    name,
    isLogged: true,
    isPersistent: ({ isOnDisk }) => isOnDisk && isInFile,
    changelogConfig: () => new Map([['cleanup.policy', 'compact']]),
    bind: () => () => (isInFile ? new WordFile(name) : new WordSet(name)),
  };
}

/** Answers a question with whether the word is there, and how often it was asked for: that is in a store of ours. */
function words(isInFile: boolean): Topology {
  const builder = new StreamsBuilder();
  const seen = wordStore('seen', isInFile);
  const counts = stores.keyValue<string, number>({
    name: 'counts',
    key: serdes.string(),
    value: serdes.integer(),
  });
  builder.addStateStore(seen).addStateStore(counts);
  builder
    .stream('in', texts)
    .processValues<string>(
      () => {
        let context: FixedKeyProcessorContext<string, string>;
        return {
          init(given) {
            context = given;
          },
          process(record: FixedKeyRecord<string, string>) {
            const { key, value, timestamp } = record;
            const set = context.getStateStore(seen);
            if (value !== '?') {
              set.set(key, value === 'add', timestamp);
              return undefined;
            }
            const count = (context.getStateStore(counts).get(key) ?? 0) + 1;
            context.getStateStore(counts).put(key, count);
            return context.forward(record.withValue(`${String(set.has(key))} ${String(count)}`));
          },
        };
      },
      { stores: ['seen', 'counts'] },
    )
    .to('out', texts);
  return builder.build();
}

let lab: Lab;
afterEach(() => lab.close());

/** Starts it, tells it this, asks for these words, and stops it. */
async function run(
  topology: Topology,
  told: readonly Entry[],
  asked: readonly string[],
  config: StreamsConfigInput = {},
): Promise<{ answers: (string | null)[]; restored: Record<string, number>; running: Running }> {
  const running = await lab.start(topology, config);
  const { length } = await lab.read('out');
  await lab.write('in', [...told, ...asked.map((word): Entry => [word, '?'])]);
  await eventually(async () => (await lab.read('out')).length === length + asked.length);
  expect(await running.close()).toBe(true);
  const answers = (await lab.read('out')).slice(length).map(({ value }) => value);
  return { answers, restored: running.restored(), running };
}

const told: Entry[] = [
  ['a', 'add'],
  ['b', 'add'],
  ['c', 'add'],
  ['b', 'remove'],
];

describe("a store of the user's own", () => {
  it('in memory is restored from its changelog, beside one of ours on disk, and after all state is gone', async () => {
    lab = await Lab.open({ in: 1, out: 1 });
    const first = await run(words(false), told, ['a', 'b']);
    expect(first.answers).toEqual(['true 1', 'false 1']);
    const second = await run(words(false), [], ['a', 'b', 'c']);
    expect(second.answers).toEqual(['true 2', 'false 2', 'true 1']);
    expect(second.restored).toEqual({ seen: 4, counts: 0 });
    const config = { 'state.dir': temporaryDirectory() };
    const third = await run(words(false), [], ['a', 'b', 'c'], config);
    expect(third.answers).toEqual(['true 3', 'false 3', 'true 2']);
    expect(third.restored).toEqual({ seen: 4, counts: 5 });
  });

  it('in a file of its own goes on where it stopped', async () => {
    lab = await Lab.open({ in: 1, out: 1 });
    await run(words(true), told, ['a']);
    expect(existsSync(lab.taskFile('words.json', '0_0/store-seen'))).toBe(true);
    const second = await run(words(true), [['d', 'add']], ['a', 'b', 'd']);
    expect(second.answers).toEqual(['true 2', 'false 1', 'true 1']);
    expect(second.restored).toEqual({ seen: 0, counts: 0 });
    await second.running.streams.cleanUp();
    expect(existsSync(lab.taskFile('words.json', '0_0/store-seen'))).toBe(false);
    const third = await run(words(true), [], ['a', 'd']);
    expect(third.answers).toEqual(['true 3', 'true 2']);
    expect(third.restored).toEqual({ seen: 5, counts: 4 });
  });

  it('in a file of its own is wiped, and nothing else, when its changelog was created anew', async () => {
    lab = await Lab.open({ in: 1, out: 1 });
    await run(words(true), told, ['a']);
    await lab.deleteTopic('app-seen-changelog');
    const second = await run(words(true), [['z', 'add']], ['a', 'z']);
    expect(second.answers).toEqual(['false 2', 'true 1']);
    expect(second.running.loud).toEqual(['the task is closed and begun anew']);
    const third = await run(words(true), [], ['z']);
    expect(third.answers).toEqual(['true 2']);
    expect(third.restored).toEqual({ seen: 0, counts: 0 });
    expect(third.running.loud).toEqual([]);
  });
});
