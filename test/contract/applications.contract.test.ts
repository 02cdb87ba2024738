/** `millrace describe` and `millrace reset` of stream applications, on both brokers. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startBroker } from '@millrace/broker';
import { serdes, StreamsBuilder, type KafkaStreams } from '@millrace/runtime';
import { describe, expect, it, onTestFinished } from 'vitest';
import { applicationsOn } from '../support/applications.ts';
import { describeOnBothBrokers, unique } from '../support/brokers.ts';
import { runHere, type CommandResult } from '../support/command-line.ts';
import { RawClient } from '../support/raw-client.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { TransactionalClient } from '../support/transactional-client.ts';

const TEST_MS = 60_000;
const POLL = { timeout: 30_000, interval: 100 };
const PARTITIONS = 2;
const WORDS = ['ann', 'bob', 'cid', 'dan', 'eve'];
const COUNTS_PER_WORD = 4;

const text = serdes.string();

interface Described {
  readonly state: string | null;
  readonly protocol: string | null;
  readonly members: readonly {
    readonly memberId: string;
    readonly groupInstanceId: string | null;
    readonly processId: string | null;
    readonly tasks: readonly string[];
  }[];
  readonly tasks: readonly {
    readonly task: string;
    readonly memberId: string;
    readonly inputs: readonly { readonly topic: string; readonly partition: number }[];
  }[];
  readonly partitions: readonly {
    readonly topic: string;
    readonly partition: number;
    readonly task: string | null;
    readonly committedOffset: string | null;
    readonly lag: string | null;
    readonly isPending: boolean;
  }[];
  readonly internalTopics: readonly {
    readonly topic: string;
    readonly kind: string;
    readonly partitions: number;
    readonly records: string;
    readonly configs: Readonly<Record<string, string>>;
  }[];
  readonly localState?: {
    readonly holder: string | null;
    readonly tasks: readonly { readonly task: string; readonly bytes: number }[];
  } | null;
}

interface Reset {
  readonly isExecuted: boolean;
  readonly removedMembers: readonly object[];
  readonly partitions: readonly {
    readonly topic: string;
    readonly partition: number;
    readonly committedOffset: string | null;
    readonly newOffset: string;
  }[];
  readonly deletedTopics: readonly { readonly topic: string; readonly kind: string }[];
  readonly localState: object | null;
  readonly remarks: readonly string[];
}

function json<T>(result: CommandResult): T {
  expect(result, result.err).toMatchObject({ code: 0 });
  return JSON.parse(result.out) as T;
}

function millraceAt(bootstrapServers: string) {
  return (input: string, ...args: string[]): Promise<CommandResult> =>
    runHere([...args, '--bootstrap-servers', bootstrapServers], input);
}

describeOnBothBrokers('commands on applications', (broker) => {
  const apps = applicationsOn(broker);

  const millraceWith = (input: string, ...args: string[]): Promise<CommandResult> =>
    millraceAt(broker().bootstrapServers)(input, ...args);
  const millrace = (...args: string[]): Promise<CommandResult> => millraceWith('', ...args);

  /** Counts words behind a repartition topic, exactly once, with state on disk. */
  function start(
    name: string,
    config: Readonly<Record<string, string | number>>,
  ): Promise<KafkaStreams> {
    const builder = new StreamsBuilder();
    builder
      .stream(`${name}-in`, { key: text, value: text })
      .selectKey((_key, value) => value)
      .groupByKey({ name: 'by-word', key: text, value: text })
      .count({ store: 'counts' })
      .toStream()
      .to(`${name}-out`, { key: text, value: serdes.long() });
    return apps.start(builder.build(), {
      'application.id': name,
      'processing.guarantee': 'exactly_once_v2',
      'num.stream.threads': 2,
      'statestore.cache.max.bytes': 0,
      'linger.ms': 5,
      ...config,
    });
  }

  async function createTopics(name: string, ...suffixes: string[]): Promise<void> {
    for (const suffix of suffixes) {
      const created = await millrace('topics', 'create', `${name}-${suffix}`, '-p', '2');
      expect(created, created.err).toMatchObject({ code: 0 });
    }
  }

  async function produce(name: string): Promise<void> {
    const lines = Array.from({ length: WORDS.length * COUNTS_PER_WORD }, (_, i) =>
      JSON.stringify({
        value: WORDS[i % WORDS.length],
        partition: i % PARTITIONS,
        timestamp: 1_700_000_000_000 + i,
      }),
    );
    await millraceWith(lines.join('\n'), 'produce', `${name}-in`, '--json');
  }

  /** Counts of all words together, as they came out. */
  async function counted(name: string): Promise<number[]> {
    const { out } = await millrace(
      ...['consume', `${name}-out`, '-e', '--fields', 'value', '--value-type', 'long'],
    );
    return out
      .split('\n')
      .filter((line) => line !== '')
      .map(Number)
      .sort((a, b) => a - b);
  }

  const described = async (name: string, ...options: string[]): Promise<Described> =>
    json<Described>(await millrace('describe', name, '--json', ...options));

  const expectedCounts = (runs: number): number[] =>
    Array.from({ length: COUNTS_PER_WORD }, (_, i) => i + 1).flatMap((count) =>
      Array.from({ length: WORDS.length * runs }, () => count),
    );

  it(
    'show a running application and let a stopped one begin anew',
    async () => {
      const name = unique('app');
      const stateDir = temporaryDirectory();
      await createTopics(name, 'in', 'out');
      await produce(name);
      const streams = await start(name, { 'state.dir': stateDir });
      await expect.poll(() => counted(name), POLL).toEqual(expectedCounts(1));

      await expect
        .poll(async () => (await described(name)).partitions.map(({ lag }) => Number(lag)), POLL)
        // The transactions' markers lie behind the last record of a repartition topic.
        .toEqual([0, 0, expect.any(Number), expect.any(Number)]);
      // One thread may have done all the work before the other one joins.
      await expect
        .poll(async () => {
          const { state, members } = await described(name);
          return { state, members: members.length };
        }, POLL)
        .toEqual({ state: 'Stable', members: 2 });
      const running = await described(name, '--state-dir', stateDir);
      expect(running).toMatchObject({ state: 'Stable', protocol: 'millrace-streams' });
      expect(running.members).toHaveLength(2);
      expect(new Set(running.members.map(({ processId }) => processId)).size).toBe(1);
      expect(running.members.flatMap(({ tasks }) => tasks).sort()).toEqual([
        ...['0_0', '0_1', '1_0', '1_1'],
      ]);
      const repartition = `${name}-by-word-repartition`;
      const changelog = `${name}-counts-changelog`;
      for (const { task, inputs } of running.tasks) {
        const [subtopology, partition] = task.split('_').map(Number);
        expect(inputs).toEqual([
          { topic: subtopology === 0 ? `${name}-in` : repartition, partition },
        ]);
      }
      expect(
        running.partitions.map(({ topic, partition, task }) => [topic, partition, task]),
      ).toEqual([
        [repartition, 0, '1_0'],
        [repartition, 1, '1_1'],
        [`${name}-in`, 0, '0_0'],
        [`${name}-in`, 1, '0_1'],
      ]);
      expect(running.internalTopics).toMatchObject([
        { topic: repartition, kind: 'repartition', partitions: 2 },
        {
          topic: changelog,
          kind: 'changelog',
          partitions: 2,
          configs: { 'cleanup.policy': 'compact' },
        },
      ]);
      expect(Number(running.internalTopics[1]?.records)).toBeGreaterThanOrEqual(20);
      expect(running.localState).toMatchObject({
        holder: expect.stringContaining(`process ${process.pid}`) as string,
        tasks: [{ task: '1_0' }, { task: '1_1' }],
      });
      const table = await millrace('describe', name, '--state-dir', stateDir);
      expect(table).toMatchObject({ code: 0, err: '' });
      expect(table.out).toMatch(/members +2, of 1 instance\ntasks +4\n/);
      expect(table.out).toMatch(new RegExp(`1_1 +${repartition} +1 `));

      const all = ['--all-input-topics', '--state-dir', stateDir];
      const refused = await millrace('reset', name, ...all, '--execute');
      expect(refused).toMatchObject({ code: 1, out: '' });
      expect(refused.err).toContain(`Application ${name} is Stable, with 2 members (`);
      expect(refused.err).toContain('stop all of its instances');
      await streams.close();

      const stopped = await described(name, '--state-dir', stateDir);
      expect(stopped).toMatchObject({ state: 'Empty', members: [], localState: { holder: null } });
      const offsets = stopped.partitions.map(({ committedOffset }) => committedOffset);
      expect(offsets.slice(2)).toEqual(['10', '10']);

      const plan = json<Reset>(await millrace('reset', name, ...all, '--json'));
      expect(plan).toMatchObject({ isExecuted: false, removedMembers: [], remarks: [] });
      expect(plan.partitions).toMatchObject(
        [0, 1].map((partition) => ({
          topic: `${name}-in`,
          partition,
          committedOffset: '10',
          newOffset: '0',
        })),
      );
      expect(plan.deletedTopics.map(({ topic }) => topic)).toEqual([repartition, changelog]);
      const shown = await millrace('reset', name, ...all);
      expect(shown.out).toContain(`topic ${changelog} of 2 partitions would be deleted`);
      expect(shown.err).toContain('Nothing was changed: --execute does it.');
      expect(await described(name, '--state-dir', stateDir)).toEqual(stopped);

      const reset = await millrace('reset', name, ...all, '--execute');
      expect(reset, reset.err).toMatchObject({ code: 0, err: '' });
      expect(reset.out).toContain(`topic ${changelog} of 2 partitions deleted`);
      const anew = await described(name, '--state-dir', stateDir);
      expect(anew.internalTopics).toEqual([]);
      expect(anew.localState).toMatchObject({ holder: null, tasks: [] });
      // Kafka forgets the offsets of the topics that are gone a moment later.
      await expect
        .poll(
          async () =>
            (await described(name)).partitions.map((each) => [each.topic, each.committedOffset]),
          POLL,
        )
        .toEqual([
          [`${name}-in`, '0'],
          [`${name}-in`, '0'],
        ]);
      // What is done already is no error: a reset that was interrupted can be run again.
      expect(await millrace('reset', name, ...all, '--execute')).toMatchObject({ code: 0 });
      expect(readdirSync(join(stateDir, name)).filter((place) => /\d_\d/.test(place))).toEqual([]);

      await start(name, { 'state.dir': stateDir });
      await expect.poll(() => counted(name), POLL).toEqual(expectedCounts(2));
    },
    TEST_MS,
  );

  it(
    'remove members that have died when they are told to',
    async () => {
      const name = unique('app');
      await createTopics(name, 'in', 'out');
      await produce(name);
      // Static members stay in the group until their session ends.
      const streams = await start(name, {
        'state.dir': temporaryDirectory(),
        'group.instance.id': 'one',
        'session.timeout.ms': 60_000,
      });
      await expect.poll(() => counted(name), POLL).toEqual(expectedCounts(1));
      await streams.close();
      const { members } = await described(name);
      expect(members.map(({ groupInstanceId }) => groupInstanceId).sort()).toEqual([
        ...['one-1', 'one-2'],
      ]);
      const refused = await millrace('reset', name, '--all-input-topics', '--execute');
      expect(refused).toMatchObject({ code: 1, out: '' });
      expect(refused.err).toContain('--force removes them at once');

      const plan = json<Reset>(
        await millrace('reset', name, '--all-input-topics', '--force', '--json'),
      );
      expect(plan.removedMembers).toHaveLength(2);
      expect((await described(name)).members).toHaveLength(2);
      const forced = ['--all-input-topics', '--force', '--execute', '--json'];
      const reset = json<Reset>(await millrace('reset', name, ...forced));
      expect(reset).toMatchObject({ isExecuted: true, removedMembers: [{}, {}] });
      expect(await described(name)).toMatchObject({ state: 'Empty', members: [] });
    },
    TEST_MS,
  );

  it(
    'wait for the end of a transaction whose offsets are not decided',
    async () => {
      const name = unique('app');
      await createTopics(name, 'in', 's-changelog');
      await produce(name);
      const client = await RawClient.connect(broker().bootstrapServers);
      onTestFinished(() => client.close());
      const transactions = new TransactionalClient(client);
      await transactions.coordinatorsAreReady(name, name);
      const producer = await transactions.init(name);
      await transactions.addOffsets(producer, name);
      expect(
        await transactions.tryCommitOffset(producer, name, `${name}-in`, 7n, { partition: 1 }),
      ).toBe('NONE');

      const reset = ['reset', name, '--input-topics', `${name}-in`, '--to-offset', '3'];
      for (const options of [[], ['--execute']]) {
        const refused = await millrace(...reset, ...options);
        expect(refused).toMatchObject({ code: 1, out: '' });
        expect(refused.err).toContain(`A transaction of ${name} is still open, with offsets of`);
        expect(refused.err).toContain(`${name}-in-1`);
      }
      expect((await described(name)).internalTopics).toHaveLength(1);
      expect(await transactions.end(producer, true)).toBe('NONE');
      await expect
        .poll(async () => (await described(name)).partitions, POLL)
        .toMatchObject([{ partition: 1, committedOffset: '7', isPending: false }]);
      const done = json<Reset>(await millrace(...reset, '--execute', '--json'));
      expect(done.partitions).toMatchObject([
        { partition: 0, committedOffset: null, newOffset: '3' },
        { partition: 1, committedOffset: '7', newOffset: '3' },
      ]);
      // The transactional id is as good as before.
      const next = await transactions.init(name);
      expect(next.producerId).toBe(producer.producerId);
      await transactions.addOffsets(next, name);
      expect(await transactions.tryCommitOffset(next, name, `${name}-in`, 4n)).toBe('NONE');
      expect((await described(name)).partitions.map(({ isPending }) => isPending)).toEqual([
        ...[true, false],
      ]);
      expect((await millrace('describe', name)).out).toContain(' 3 (pending) ');
      expect(await transactions.end(next, false)).toBe('NONE');
    },
    TEST_MS,
  );

  it(
    'move inputs wherever they are told, and delete what is named like an internal topic',
    async () => {
      const name = unique('app');
      const other = `${name}-eu`;
      const internal = [
        ...['by-word-repartition', 'mine-changelog'],
        ...['KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000012-topic', 'x-changelog'],
      ];
      await createTopics(name, 'in', 'kept', 'changelogs', ...internal);
      await createTopics(other, 's-changelog');
      await produce(name);
      for (const group of [name, other]) {
        const options = ['--topic', `${name}-in`, '--topic', `${name}-kept`, '--to-latest'];
        await millrace('groups', 'reset', group, ...options, '--execute');
      }

      const input = ['--input-topics', `${name}-in`];
      const offsets = async (...options: string[]): Promise<string[]> => {
        const reset = json<Reset>(await millrace('reset', name, '--json', ...input, ...options));
        return reset.partitions.map(({ newOffset }) => newOffset);
      };
      expect(await offsets()).toEqual(['0', '0']);
      expect(await offsets('--to-latest')).toEqual(['10', '10']);
      expect(await offsets('--to-offset', '4')).toEqual(['4', '4']);
      expect(await offsets('--shift-by', '-3')).toEqual(['7', '7']);
      expect(await offsets('--to-datetime', '@1700000000005')).toEqual(['3', '2']);
      expect(await offsets('--by-duration', 'PT1H')).toEqual(['10', '10']);
      const file = join(temporaryDirectory(), 'offsets.csv');
      writeFileSync(file, `${name}-in,1,6\n${name}-in,0,400\n`);
      expect(await offsets('--from-file', file)).toEqual(['10', '6']);

      const plan = json<Reset>(await millrace('reset', name, '--json', ...input));
      expect(plan.deletedTopics).toEqual(
        [
          {
            topic: `${name}-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000012-topic`,
            kind: 'subscription',
          },
          { topic: `${name}-by-word-repartition`, kind: 'repartition' },
          { topic: `${name}-mine-changelog`, kind: 'changelog' },
          { topic: `${name}-x-changelog`, kind: 'changelog' },
        ].map((each) => ({ ...each, partitions: 2 })),
      );
      expect(plan.remarks).toEqual([
        `Committed offsets of ${name}-kept stay as they are.`,
        `Topic ${other}-s-changelog stays: it seems to be of ${other}. --internal-topics deletes it all the same.`,
      ]);

      const named = ['--internal-topics', `${name}-x-changelog`];
      const some = json<Reset>(await millrace('reset', name, '--json', '--execute', ...named));
      expect(some).toMatchObject({
        partitions: [],
        deletedTopics: [{ topic: `${name}-x-changelog` }],
      });
      expect(some.remarks.at(-1)).toContain('that stay: ');
      // An input is none to delete, whatever it is called.
      const mine = ['--input-topics', `${name}-mine-changelog`, '--execute'];
      const rest = json<Reset>(await millrace('reset', name, '--json', ...mine));
      expect(rest.deletedTopics).toHaveLength(2);
      const left = json<{ topic: string }[]>(await millrace('topics', 'list', '--json'));
      expect(
        left.map(({ topic }) => topic).filter((topic) => topic.startsWith(`${name}-`)),
      ).toEqual([
        `${name}-changelogs`,
        `${other}-s-changelog`,
        `${name}-in`,
        `${name}-kept`,
        `${name}-mine-changelog`,
      ]);
    },
    TEST_MS,
  );

  it(
    'name whatever is wrong, and change nothing',
    async () => {
      const name = unique('app');
      await createTopics(name, 'in', 's-changelog');
      const stateDir = temporaryDirectory();
      mkdirSync(join(stateDir, name, '0_0', 'rocksdb'), { recursive: true });
      const file = join(temporaryDirectory(), 'offsets.csv');
      writeFileSync(file, `${name}-in,0,1\n`);
      const wrongFile = `${file}.wrong`;
      writeFileSync(wrongFile, `${name}-in,0,1\n${name}-in 1 2\n`);
      const input = ['--input-topics', `${name}-in`];
      const cases: readonly (readonly [readonly string[], number, string])[] = [
        [['--to-earliest'], 2, 'Say whose offsets are set'],
        [[...input, '--to-earliest', '--from-file', file], 2, 'Give at most one of'],
        [[...input, '--all-input-topics'], 2, 'contradict each other'],
        [[...input, '--execute', '--dry-run'], 2, 'contradict each other'],
        [['--input-topics', `${name}-on`], 1, `no topic ${name}-on. Did you mean ${name}-in?`],
        [[...input, '--shift-by', '1'], 1, `no committed offset to shift from for ${name}-in-0`],
        [[...input, '--from-file', file], 1, `no offset for ${name}-in-1`],
        [[...input, '--from-file', wrongFile], 1, `Line 2 of ${wrongFile}`],
        [['--internal-topics', `${name}-in`], 1, 'is not named like an internal topic'],
        [['--internal-topics', `${name}-t-changelog`], 1, `Did you mean ${name}-s-changelog?`],
        [['--state-dir', stateDir], 1, 'was not written by Millrace'],
      ];
      for (const [options, code, message] of cases) {
        const refused = await millrace('reset', name, '--execute', ...options);
        expect(refused, message).toMatchObject({ code, out: '' });
        expect(refused.err).toContain(message);
      }
      expect((await described(name)).internalTopics).toHaveLength(1);
      expect(existsSync(join(stateDir, name, '0_0', 'rocksdb'))).toBe(true);
      for (const command of ['describe', 'reset']) {
        const unknown = await millrace(command, `${name}-nope`);
        expect(unknown).toMatchObject({ code: 1, out: '' });
        expect(unknown.err).toContain(`There is no group ${name}-nope.`);
      }
    },
    TEST_MS,
  );
});

describe('millrace reset where topics cannot be deleted', () => {
  it('says what is left to do', async () => {
    await using broker = await startBroker({
      dataDir: temporaryDirectory(),
      config: { 'delete.topic.enable': 'false' },
    });
    const millrace = millraceAt(broker.bootstrapServers);
    for (const topic of ['in', 'app-s-changelog']) await millrace('', 'topics', 'create', topic);
    await millrace('a\nb\n', 'produce', 'in', '-p', '0');
    await millrace(
      '',
      'groups',
      'reset',
      'app',
      '--topic',
      'in:0',
      '--to-offset',
      '2',
      '--execute',
    );
    const reset = ['reset', 'app', '--all-input-topics', '--execute'];
    const shifted = await millrace('', 'reset', 'app', '--input-topics', 'in', '--shift-by', '-1');
    expect(shifted).toMatchObject({ code: 0 });
    const failed = await millrace('', ...reset);
    expect(failed).toMatchObject({ code: 1 });
    expect(failed.err).toContain('1 internal topic could not be deleted:');
    expect(failed.err).toContain('Do not start the application before the same reset');
    await millrace('', 'groups', 'reset', 'app', '--topic', 'in', '--to-latest', '--execute');
    const half = await millrace('', ...reset, '--shift-by', '-1');
    expect(half).toMatchObject({ code: 1 });
    expect(half.err).toContain('without the input topics, whose offsets are shifted already');
  });
});
