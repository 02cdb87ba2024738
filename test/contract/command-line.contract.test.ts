/**
 * The commands on the embedded broker and on Kafka, within this process; those that signals and closed
 * pipes end are processes of their own, which need the build.
 */
import { startBroker } from '@millrace/broker';
import { Kafka, logLevel } from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { describeOnBothBrokers, unique } from '../support/brokers.ts';
import {
  runCommand,
  runHere,
  runShell,
  RunningCommand,
  type CommandResult,
} from '../support/command-line.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const COMMAND_MS = 60_000;

interface JsonRecord {
  readonly partition: number;
  readonly offset: string;
  readonly timestamp: number;
  readonly key: unknown;
  readonly value: unknown;
  readonly headers: readonly object[];
}

function jsonLines<T>({ out }: CommandResult): T[] {
  return out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}

function json<T>(result: CommandResult): T {
  expect(result, result.err).toMatchObject({ code: 0 });
  return JSON.parse(result.out) as T;
}

/** Bounded by the test's own time. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 100));
}

describeOnBothBrokers('the command line', (broker) => {
  const environment = (): Record<string, string> => ({
    MILLRACE_BOOTSTRAP_SERVERS: broker().bootstrapServers,
  });
  const millraceWith = (input: string, ...args: string[]): Promise<CommandResult> =>
    runHere([...args, '--bootstrap-servers', broker().bootstrapServers], input);
  const millrace = (...args: string[]): Promise<CommandResult> => millraceWith('', ...args);

  async function createTopic(prefix: string, ...options: string[]): Promise<string> {
    const topic = unique(prefix);
    const created = await millrace('topics', 'create', topic, ...options);
    expect(created, created.err).toMatchObject({ code: 0 });
    return topic;
  }

  async function consumed(topic: string, ...options: string[]): Promise<JsonRecord[]> {
    const result = await millrace('consume', topic, '--json', '--until-end', ...options);
    expect(result, result.err).toMatchObject({ code: 0 });
    return jsonLines(result);
  }

  async function endOffset(topic: string): Promise<string> {
    const [described] = json<{ partitions: { endOffset: string }[] }[]>(
      await millrace('topics', 'describe', topic, '--json'),
    );
    return described?.partitions[0]?.endOffset ?? '';
  }

  it(
    'creates, lists, describes, alters and deletes topics',
    async () => {
      const topic = await createTopic('cli-topic', '-p', '2', '-c', 'retention.ms=60000');
      const listed = json<{ topic: string; partitions: number }[]>(
        await millrace('topics', 'list', '--json'),
      );
      expect(listed.find((each) => each.topic === topic)).toMatchObject({ partitions: 2 });
      expect(listed.some((each) => each.topic.startsWith('__'))).toBe(false);

      const again = await millrace('topics', 'create', topic);
      expect(again).toMatchObject({ code: 1, out: '' });
      expect(again.err).toContain(`Topic ${topic} exists already`);
      expect(await millrace('topics', 'create', topic, '--if-not-exists')).toMatchObject({
        code: 0,
        out: `topic ${topic} exists already, with 2 partitions\n`,
      });

      const change = ['-p', '3', '-c', 'max.message.bytes=4096', '--delete-config', 'retention.ms'];
      const describeTopic = async (): Promise<Record<string, unknown>> =>
        json<Record<string, unknown>[]>(
          await millrace('topics', 'describe', topic, '--json'),
        )[0] as Record<string, unknown>;
      expect(await millrace('topics', 'alter', topic, ...change, '--dry-run')).toMatchObject({
        code: 0,
      });
      expect(await describeTopic()).toMatchObject({ configs: { 'retention.ms': '60000' } });
      expect(await millrace('topics', 'alter', topic, ...change)).toMatchObject({ code: 0 });
      await millraceWith('a\nb\n', 'produce', topic, '-p', '1');
      const described = await describeTopic();
      expect(described).toMatchObject({ topic, configs: { 'max.message.bytes': '4096' } });
      expect(described['partitions']).toMatchObject([
        { partition: 0, logStartOffset: '0', endOffset: '0' },
        { partition: 1, logStartOffset: '0', endOffset: '2' },
        { partition: 2, logStartOffset: '0', endOffset: '0' },
      ]);
      const fewer = await millrace('topics', 'alter', topic, '-p', '1');
      expect(fewer).toMatchObject({ code: 1 });
      expect(fewer.err).toContain('has 3 partitions, and they can only become more');

      expect(await millrace('topics', 'delete', topic)).toMatchObject({
        code: 0,
        out: `deleted topic ${topic}\n`,
      });
      expect(await millrace('topics', 'delete', topic, '--if-exists')).toMatchObject({ code: 0 });
      const gone = await millrace('topics', 'describe', topic);
      expect(gone).toMatchObject({ code: 1, out: '' });
      expect(gone.err).toContain(`There is no topic ${topic}.`);
    },
    COMMAND_MS,
  );

  it(
    'names the nearest topic, and every wrong key of a configuration',
    async () => {
      const topic = await createTopic('cli-nearest');
      const typo = topic.replace('nearest', 'naerest');
      for (const args of [
        ['topics', 'describe', typo],
        ['consume', typo, '-e'],
        ['produce', typo],
        ['delete-records', typo, '--before', 'end'],
        ['groups', 'reset', 'g', '--topic', typo, '--to-latest'],
      ]) {
        const result = await millrace(...args);
        expect(result).toMatchObject({ code: 1, out: '' });
        expect(result.err).toContain(`There is no topic ${typo}. Did you mean ${topic}?`);
      }
      const wrong = await millrace(
        ...['topics', 'create', unique('cli-wrong'), '-c', 'cleanup.polic=compact'],
        ...['-c', 'retention.ms=never'],
      );
      expect(wrong).toMatchObject({ code: 2, out: '' });
      expect(wrong.err).toContain('Did you mean cleanup.policy?');
      expect(wrong.err).toContain('retention.ms=never: expected a whole number');
      const altered = await millrace('topics', 'alter', topic, '--delete-config', 'retention.mss');
      expect(altered).toMatchObject({ code: 2 });
      expect(altered.err).toContain('Did you mean retention.ms?');
    },
    COMMAND_MS,
  );

  it(
    'writes keys, nulls and headers, and reads them back as columns and as JSON',
    async () => {
      const topic = await createTopic('cli-records', '-p', '1');
      expect(
        await millraceWith('ann,1\n-,2\nann,-\n', 'produce', topic, '-s', ',', '--null', '-'),
      ).toMatchObject({ code: 0, out: `3 records acknowledged by topic ${topic}\n` });
      await millraceWith('x', 'produce', topic, '-k', 'k', '-H', 'a=1', '-H', 'a=2');
      expect(await millrace('consume', topic, '-e', '--headers')).toMatchObject({
        code: 0,
        out: '\tann\t1\n\tnull\t2\n\tann\tnull\na=1,a=2\tk\tx\n',
      });
      const records = await consumed(topic);
      expect(records.map(({ offset, key, value }) => [offset, key, value])).toEqual([
        ['0', 'ann', '1'],
        ['1', null, '2'],
        ['2', 'ann', null],
        ['3', 'k', 'x'],
      ]);
      expect(records[3]?.headers).toEqual([
        { key: 'a', value: '1' },
        { key: 'a', value: '2' },
      ]);
    },
    COMMAND_MS,
  );

  it(
    'writes with every codec and both acks, and copies a topic byte by byte through a pipe',
    async () => {
      const from = await createTopic('cli-codecs', '-p', '3');
      const to = await createTopic('cli-copy', '-p', '3');
      const codecs = ['none', 'gzip', 'snappy', 'lz4', 'zstd'];
      for (const [i, codec] of codecs.entries()) {
        const lines = Array.from({ length: 200 }, (_, n) =>
          JSON.stringify({ key: `${codec}-${n % 7}`, value: `${n} 🌊` }),
        );
        const acks = i % 2 === 0 ? 'all' : '1';
        const options = ['--json', '--compression', codec, '--acks', acks];
        expect(json(await millraceWith(lines.join('\n'), 'produce', from, ...options))).toEqual({
          topic: from,
          acknowledged: 200,
          unacknowledged: 0,
        });
      }
      await millraceWith('/w==\n', 'produce', from, '--value-type', 'base64', '-p', '2');
      const records = await consumed(from);
      expect(records).toHaveLength(1_001);
      expect(records.filter(({ value }) => typeof value === 'object')).toMatchObject([
        { value: { base64: '/w==' } },
      ]);
      const lines = await millrace('consume', from, '--json', '-e');
      await millraceWith(lines.out, 'produce', to, '--json');
      const place = ({ partition, timestamp, key, value, headers }: JsonRecord): string =>
        JSON.stringify([partition, timestamp, key, value, headers]);
      const ofPartition = (all: readonly JsonRecord[], partition: number): string[] =>
        all.filter((record) => record.partition === partition).map(place);
      const copied = await consumed(to);
      for (const partition of [0, 1, 2]) {
        expect(ofPartition(copied, partition)).toEqual(ofPartition(records, partition));
      }
    },
    COMMAND_MS,
  );

  it(
    'reads from and to offsets, times and ends, and so many records',
    async () => {
      const topic = await createTopic('cli-places', '-p', '2');
      const T = 1_700_000_000_000;
      const lines = Array.from({ length: 20 }, (_, i) =>
        JSON.stringify({ value: String(i), partition: i % 2, timestamp: T + i * 1_000 }),
      );
      await millraceWith(lines.join('\n'), 'produce', topic, '--json');
      const values = async (...options: string[]): Promise<number[]> => {
        const result = await millrace('consume', topic, '-f', 'value', ...options);
        expect(result, result.err).toMatchObject({ code: 0 });
        return result.out
          .split('\n')
          .filter((line) => line !== '')
          .map(Number)
          .sort((a, b) => a - b);
      };
      const all = Array.from({ length: 20 }, (_, i) => i);
      expect(await values('-e')).toEqual(all);
      expect(await values('--from', '8', '-e')).toEqual([16, 17, 18, 19]);
      expect(await values('--from', '-1', '-e', '-p', '1')).toEqual([19]);
      expect(await values('--from', '2', '--to', '4')).toEqual([4, 5, 6, 7]);
      expect(await values('--to', '1000', '-p', '0')).toHaveLength(10);
      expect(await values('--from', `@${T + 15_000}`, '-e')).toEqual([15, 16, 17, 18, 19]);
      expect(await values('--to', new Date(T + 3_000).toISOString())).toEqual([0, 1, 2]);
      expect(await values('--from', 'end', '--max-idle', '300ms')).toEqual([]);
      expect(await values('-n', '3')).toHaveLength(3);
      expect(await values('-e', '-n', '100')).toEqual(all);
    },
    COMMAND_MS,
  );

  it(
    'leaves out what was aborted, unless it is asked for',
    async () => {
      const topic = await createTopic('cli-aborted', '-p', '1');
      const kafka = new Kafka({
        clientId: 'cli-test',
        brokers: broker().bootstrapServers.split(','),
        logLevel: logLevel.NOTHING,
      });
      const producer = kafka.producer({
        transactionalId: unique('cli-aborted'),
        idempotent: true,
        maxInFlightRequests: 1,
      });
      await producer.connect();
      for (const end of ['abort', 'commit'] as const) {
        const transaction = await producer.transaction();
        await transaction.send({ topic, messages: [{ value: end }] });
        await transaction[end]();
      }
      await producer.disconnect();
      const values = async (...options: string[]): Promise<unknown[]> =>
        (await consumed(topic, ...options)).map(({ value }) => value);
      expect(await values()).toEqual(['commit']);
      expect(await values('--isolation', 'read_uncommitted')).toEqual(['abort', 'commit']);
    },
    COMMAND_MS,
  );

  it(
    "writes and reads Kafka's number formats",
    async () => {
      const topic = await createTopic('cli-types', '-p', '1');
      const types = ['--key-type', 'integer', '--value-type', 'long'];
      await millraceWith('-7 9007199254740993\n', 'produce', topic, '-s', ' ', ...types);
      expect(await consumed(topic, ...types)).toMatchObject([
        { key: -7, value: '9007199254740993' },
      ]);
      const wrong = await millrace('consume', topic, '-e', '--value-type', 'double', '-f', 'key');
      expect(wrong).toMatchObject({ code: 0 });
      const short = await millrace('consume', topic, '-e', '--value-type', 'short');
      expect(short).toMatchObject({ code: 1 });
      expect(short.err).toContain(`The value of ${topic}-0 at offset 0 is no short`);
    },
    COMMAND_MS,
  );

  it(
    'says what was not written, and ends with an error',
    async () => {
      const topic = await createTopic('cli-losses', '-p', '1', '-c', 'max.message.bytes=2000');
      const cut = await millraceWith('a,1\nb,2\nnonsense\nc,3\n', 'produce', topic, '-s', ',');
      expect(cut).toMatchObject({
        code: 1,
        out: `2 records acknowledged by topic ${topic}\n`,
      });
      expect(cut.err).toContain("Line 3 of the input: the key separator ',' is missing.");
      expect(await consumed(topic)).toHaveLength(2);

      const large = await millraceWith(`${'x'.repeat(3_000)}\n`, 'produce', topic);
      expect(large).toMatchObject({ code: 1, out: `0 records acknowledged by topic ${topic}\n` });
      expect(large.err).toContain('1 record of 1 not acknowledged');
      expect(large.err).toContain('max.message.bytes');
      const larger = await millraceWith(`${'x'.repeat(1_200_000)}\n`, 'produce', topic);
      expect(larger).toMatchObject({ code: 1 });
      expect(larger.err).toContain('Line 1 of the input: A record for');
      const elsewhere = await millraceWith('x\n', 'produce', topic, '-p', '4');
      expect(elsewhere).toMatchObject({ code: 1 });
      expect(elsewhere.err).toContain('has no partition 4: it has 1, from 0 to 0');
      expect(await consumed(topic)).toHaveLength(2);
    },
    COMMAND_MS,
  );

  it(
    'deletes the oldest records, and only those',
    async () => {
      const topic = await createTopic('cli-delete', '-p', '2');
      const T = 1_700_000_000_000;
      const lines = Array.from({ length: 12 }, (_, i) =>
        JSON.stringify({ value: String(i), partition: i % 2, timestamp: T + i }),
      );
      await millraceWith(lines.join('\n'), 'produce', topic, '--json');
      const starts = async (...options: string[]): Promise<string[]> => {
        const result = json<{ partitions: { logStartOffset: string }[] }>(
          await millrace('delete-records', topic, '--json', ...options),
        );
        return result.partitions.map(({ logStartOffset }) => logStartOffset);
      };
      expect(await starts('--before', '2', '--dry-run')).toEqual(['2', '2']);
      expect(await consumed(topic)).toHaveLength(12);
      expect(await starts('--offsets', '1=3')).toEqual(['3']);
      expect(await starts('--before', '2')).toEqual(['2', '3']);
      expect(await starts('--before', `@${T + 8}`)).toEqual(['4', '4']);
      const beyond = await millrace('delete-records', topic, '--before', '7');
      expect(beyond).toMatchObject({ code: 1, out: '' });
      expect(beyond.err).toContain('- partition 0 ends at 6, before 7');
      expect((await consumed(topic)).map(({ value }) => value).sort()).toEqual(
        ['8', '9', '10', '11'].sort(),
      );
      expect(await starts('--before', 'end', '-p', '0')).toEqual(['6']);
      expect(await consumed(topic)).toHaveLength(2);
    },
    COMMAND_MS,
  );

  it(
    'shows groups, and resets those without members when it is told to',
    async () => {
      const topic = await createTopic('cli-group', '-p', '2');
      const T = 1_700_000_000_000;
      const lines = Array.from({ length: 20 }, (_, i) =>
        JSON.stringify({ value: String(i), partition: i % 2, timestamp: T + i }),
      );
      await millraceWith(lines.join('\n'), 'produce', topic, '--json');
      const groupId = unique('cli-group');
      const kafka = new Kafka({
        clientId: 'cli-test',
        brokers: broker().bootstrapServers.split(','),
        logLevel: logLevel.NOTHING,
      });
      const consumer = kafka.consumer({ groupId, maxWaitTimeInMs: 100 });
      await consumer.connect();
      await consumer.subscribe({ topics: [topic], fromBeginning: true });
      let count = 0;
      await new Promise<void>((resolve, reject) => {
        consumer
          .run({
            eachMessage: async () => {
              if (++count === 20) resolve();
            },
          })
          .catch(reject);
      });
      interface Described {
        state: string;
        members: { clientId: string; partitions: object[] }[];
        partitions: { partition: number; committedOffset: string; lag: string }[];
      }
      const describeGroup = async (): Promise<Described> =>
        json<Described>(await millrace('groups', 'describe', groupId, '--json'));
      const active = await describeGroup();
      expect(active).toMatchObject({ state: 'Stable', members: [{ clientId: 'cli-test' }] });
      expect(active.members[0]?.partitions).toHaveLength(2);
      const refused = await millrace(
        ...['groups', 'reset', groupId, '--topic', topic, '--to-earliest', '--execute'],
      );
      expect(refused).toMatchObject({ code: 1, out: '' });
      expect(refused.err).toContain(`Group ${groupId} is Stable: stop its members first`);
      await consumer.commitOffsets([0, 1].map((partition) => ({ topic, partition, offset: '10' })));
      await consumer.disconnect();

      const listed = json<{ group: string; state: string }[]>(
        await millrace('groups', 'list', '--json'),
      );
      expect(listed.find(({ group }) => group === groupId)).toMatchObject({ state: 'Empty' });

      const reset = async (...options: string[]): Promise<string[]> => {
        const plan = json<{ partitions: { newOffset: string }[] }>(
          await millrace('groups', 'reset', groupId, '--json', ...options),
        );
        return plan.partitions.map(({ newOffset }) => newOffset);
      };
      const committed = async (): Promise<string[]> =>
        (await describeGroup()).partitions.map(({ committedOffset }) => committedOffset);

      expect(await reset('--all-topics', '--to-earliest')).toEqual(['0', '0']);
      expect(await committed()).toEqual(['10', '10']);
      expect(await reset('--all-topics', '--shift-by', '-4', '--execute')).toEqual(['6', '6']);
      expect(await committed()).toEqual(['6', '6']);
      const one = `${topic}:1`;
      expect(await reset('--topic', one, '--to-offset', '400', '--execute')).toEqual(['10']);
      expect(await committed()).toEqual(['6', '10']);
      const time = new Date(T + 15).toISOString();
      expect(await reset('--topic', topic, '--to-datetime', time)).toEqual(['8', '7']);
      expect(await reset('--topic', topic, '--by-duration', '1h')).toEqual(['10', '10']);
      expect(await reset('--all-topics', '--to-earliest', '--execute')).toEqual(['0', '0']);
      expect(await reset('--all-topics', '--to-latest', '--execute')).toEqual(['10', '10']);
      expect((await describeGroup()).partitions.map(({ lag }) => lag)).toEqual(['0', '0']);
      const admin = kafka.admin();
      await admin.connect();
      const theirs = await admin.fetchOffsets({ groupId, topics: [topic] });
      await admin.disconnect();
      expect(theirs[0]?.partitions.map(({ offset }) => offset)).toEqual(['10', '10']);

      const unknown = await millrace('groups', 'describe', groupId.replace('group', 'gruop'));
      expect(unknown).toMatchObject({ code: 1 });
      expect(unknown.err).toContain('Did you mean');
    },
    COMMAND_MS,
  );

  it(
    'ends with its reader, with Ctrl-C, and with what it was told to',
    async () => {
      const topic = await createTopic('cli-ends', '-p', '1');
      const lines = Array.from({ length: 20_000 }, (_, i) => `line ${i}`);
      await millraceWith(lines.join('\n'), 'produce', topic);
      const following = new RunningCommand(['consume', topic, '-f', 'value'], environment());
      await following.printed('line 19999');
      await millraceWith('one more\n', 'produce', topic);
      await following.printed('one more');
      following.kill('SIGINT');
      expect(await following.exited).toMatchObject({ code: 0, signal: null, err: '' });

      const piped = new RunningCommand(['consume', topic, '-e'], environment());
      await piped.printed('line 0');
      piped.closeOutput();
      expect(await piped.exited).toMatchObject({ code: 0, signal: null, err: '' });

      const typing = new RunningCommand(['produce', topic], environment());
      typing.type('first\nsecond\nnever fini');
      await until(async () => (await endOffset(topic)) === '20003');
      typing.kill('SIGINT');
      expect(await typing.exited).toMatchObject({
        code: 130,
        out: `2 records acknowledged by topic ${topic}\n`,
      });
      const tail = await millrace('consume', topic, '-f', 'value', '-e', '--from', '-2');
      expect(tail.out).toBe('first\nsecond\n');
    },
    COMMAND_MS,
  );

  it(
    "shows the log's batches as they were written",
    async () => {
      const topic = await createTopic('cli-dump', '-p', '1');
      await millraceWith('a\nb\nc\n', 'produce', topic, '--compression', 'gzip');
      await millraceWith('d\n', 'produce', topic);
      const path = `${broker().dataDir}/${topic}-0`;
      const dumped = await runHere(['dump-log', path, '--records', '--json']);
      expect(dumped, dumped.err).toMatchObject({ code: 0 });
      const parts = jsonLines<{ kind: string; value?: string }>(dumped);
      expect(parts.map(({ kind }) => kind)).toEqual([
        ...['batch', 'record', 'record', 'record', 'batch', 'record', 'segment'],
      ]);
      expect(parts.filter(({ kind }) => kind === 'record').map(({ value }) => value)).toEqual([
        'a',
        'b',
        'c',
        'd',
      ]);
      expect(parts.at(-1)).toMatchObject({ batches: 2, records: 4, firstOffset: '0' });
    },
    COMMAND_MS,
  );
});

describe('the command line as a process', () => {
  it(
    'finds the embedded broker through its data directory',
    async () => {
      const dataDir = temporaryDirectory();
      await using broker = await startBroker({ dataDir });
      expect(broker.bootstrapServers).not.toBe('');
      const data = ['-d', dataDir];
      expect(await runCommand(['topics', 'create', 'orders', ...data])).toMatchObject({ code: 0 });
      const environment = { MILLRACE_DATA_DIR: dataDir };
      expect(
        await runCommand(['produce', 'orders', '-s', '\\t'], environment, 'ann\t1\nbob\t2'),
      ).toEqual({
        code: 0,
        signal: null,
        out: '2 records acknowledged by topic orders\n',
        err: '',
      });
      expect(await runCommand(['consume', 'orders', '-e', ...data])).toEqual({
        code: 0,
        signal: null,
        out: 'ann\t1\nbob\t2\n',
        err: '',
      });
      // A disk behind `>` that is full, and a reader that has seen enough.
      const full = await runShell('millrace consume orders -e > /dev/full', environment);
      expect(full).toMatchObject({ code: 1, out: '' });
      expect(full.err).toMatch(/^millrace: The output could not be written: ENOSPC.*\n$/);
      const head = await runShell('millrace consume orders -e | head -n 1', environment);
      expect(head).toEqual({ code: 0, signal: null, out: 'ann\t1\n', err: '' });
      const both = await runCommand(['topics', 'list', ...data, '-b', 'x:1']);
      expect(both).toMatchObject({ code: 2, out: '' });
    },
    COMMAND_MS,
  );
});

describe('the command line without a broker', () => {
  it('says at once that nobody answers, and what to do', async () => {
    const startedAt = performance.now();
    const result = await runHere(['topics', 'list', '-b', '127.0.0.1:1,127.0.0.1:2']);
    expect(result).toMatchObject({ code: 1, out: '' });
    expect(result.err).toContain('No broker answers at 127.0.0.1:1,127.0.0.1:2');
    expect(result.err).toContain('ECONNREFUSED');
    expect(result.err).toContain('--bootstrap-servers');
    expect(performance.now() - startedAt).toBeLessThan(15_000);
    const nowhere = await runHere(['topics', 'list', '-d', '/nowhere/at/all']);
    expect(nowhere).toMatchObject({ code: 1 });
    expect(nowhere.err).toContain('millrace broker --data-dir /nowhere/at/all');
  });
});
