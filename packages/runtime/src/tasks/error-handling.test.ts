import { RecordHeaders } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import { StreamsBuilder } from '../dsl/streams-builder.ts';
import { deadLetter } from '../dead-letter.ts';
import type {
  ErrorHandlerContext,
  HandlerResult,
  ProcessedRecord,
  ProcessingHandling,
} from '../error-handlers.ts';
import {
  DeserializationError,
  ExceptionHandlerError,
  ProcessingError,
  ProductionError,
  TaskMigratedError,
} from '../errors.ts';
import { serdes } from '../serdes/serdes.ts';
import { SerializationError, WrongTypeError } from '../serdes/serialization-error.ts';
import type { FakeCluster } from '../testing-support/fake-cluster.ts';
import type { Topology } from '../topology/topology.ts';
import { picky, setUpTask } from './testing-support/set-up-task.ts';

const strings = { key: serdes.string(), value: serdes.string() };
const input = ['1', 'bad', '3'].map((value, i) => ({ key: 'k', value, timestamp: i + 1 }));

function failOn(bad: string, error: Error = new RangeError('boom')) {
  return (value: string): string => {
    if (value === bad) throw error;
    return value;
  };
}

function mapped(mapper: (value: string) => string | Promise<string>): Topology {
  const builder = new StreamsBuilder();
  builder.stream('a', strings).mapValues(mapper, { name: 'map' }).to('out', strings);
  return builder.build();
}

async function run(setup: Awaited<ReturnType<typeof setUpTask>>): Promise<void> {
  while (setup.task.process(10, 0) > 0 || setup.task.hasRecordInHand) {
    await setup.task.finishRecordInHand();
  }
}

function letters(cluster: FakeCluster): Record<string, string | null>[] {
  return cluster
    .log('dlq')
    .records()
    .map(({ key, value, timestamp, headers }) => ({
      key: key?.toString() ?? null,
      value: value?.toString() ?? null,
      timestamp: String(timestamp),
      ...Object.fromEntries(
        [...(headers ?? [])].map((header) => [header.key, header.value?.toString() ?? null]),
      ),
    }));
}

/** Each handler's question, and an answer. */
function asking(answer: HandlerResult) {
  const asked: { context: ErrorHandlerContext; record: ProcessedRecord | null; error: unknown }[] =
    [];
  const handler: ProcessingHandling = (context, record, error) => {
    asked.push({ context, record, error });
    return answer;
  };
  return { asked, handler };
}

describe('processing.exception.handler', () => {
  it('fails by default, naming the node and the record, with what was thrown as cause', async () => {
    const { task, feed, output } = await setUpTask({ topology: mapped(failOn('bad')) });
    feed('a', ...input);
    let thrown: unknown;
    try {
      task.process(10, 0);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(ProcessingError);
    expect(thrown).toMatchObject({
      code: 'PROCESSING_FAILED',
      message: 'map (task 0_0) failed on the record of a-0 at offset 1: boom',
      context: { task: '0_0', node: 'map', topic: 'a', partition: 0, offset: 1n },
      cause: new RangeError('boom'),
    });
    expect(task.offsetsToCommit().get('a-0')?.offset).toBe(1n);
    expect(await output()).toEqual(['k=1@1']);
  });

  it.each([false, true])(
    'continues where told to: the record is counted, the next ones go on (async: %s)',
    async (isAsync) => {
      const map = failOn('bad');
      const topology = mapped(
        isAsync ? (value) => Promise.resolve(value).then(map) : (value) => map(value),
      );
      const setup = await setUpTask({ topology, processing: 'continue' });
      setup.feed('a', ...input);
      await run(setup);
      expect(await setup.output()).toEqual(['k=1@1', 'k=3@3']);
      expect(setup.task.droppedCount).toBe(1);
      expect(setup.task.offsetsToCommit().get('a-0')?.offset).toBe(3n);
    },
  );

  it.each([false, true])(
    'asks once, about the innermost node, with everything known (async: %s)',
    async (isAsync) => {
      const map = failOn('bad');
      const builder = new StreamsBuilder();
      builder
        .stream('a', strings)
        .map((key, value) => [key.toUpperCase(), value], { name: 'outer' })
        .mapValues(isAsync ? (value) => Promise.resolve(value).then(map) : map, { name: 'inner' })
        .to('out', strings);
      const { asked, handler } = asking('continue');
      const setup = await setUpTask({ topology: builder.build(), processing: handler });
      const headers = new RecordHeaders().add('h', 'x');
      setup.feed('a', { key: 'k', value: 'bad', timestamp: 7, headers });
      await run(setup);
      expect(asked).toHaveLength(1);
      const [{ context, record, error }] = asked as [(typeof asked)[0]];
      expect(error).toEqual(new RangeError('boom'));
      expect(context).toMatchObject({
        taskId: '0_0',
        processorNodeId: 'inner',
        topic: 'a',
        partition: 0,
        offset: 0n,
        timestamp: 7,
      });
      expect(context.sourceRawKey?.toString()).toBe('k');
      expect(context.sourceRawValue?.toString()).toBe('bad');
      expect(record).toMatchObject({ key: 'K', value: 'bad', timestamp: 7 });
      expect(record?.headers?.last('h')?.value?.toString()).toBe('x');
    },
  );

  it('loses one pair of a flatMap only, and one child of several only', async () => {
    const builder = new StreamsBuilder();
    const split = builder
      .stream('a', strings)
      .flatMapValues(() => ['1', 'bad', '3'], { name: 'split' });
    split.mapValues(failOn('bad'), { name: 'first' }).to('out', strings);
    split.mapValues((value) => `${value}!`, { name: 'second' }).to('out', strings);
    const setup = await setUpTask({ topology: builder.build(), processing: 'continue' });
    setup.feed('a', { key: 'k', value: 'v', timestamp: 1 });
    await run(setup);
    expect(await setup.output()).toEqual(['k=1@1', 'k=1!@1', 'k=bad!@1', 'k=3@1', 'k=3!@1']);
    expect(setup.task.droppedCount).toBe(1);
  });

  it('waits for an asynchronous handler, in order', async () => {
    const setup = await setUpTask({
      topology: mapped(failOn('bad')),
      processing: async () => {
        await Promise.resolve();
        return 'continue' as const;
      },
    });
    setup.feed('a', ...input);
    expect(setup.task.process(10, 0)).toBe(2);
    expect(setup.task.hasRecordInHand).toBe(true);
    await run(setup);
    expect(await setup.output()).toEqual(['k=1@1', 'k=3@3']);
  });

  it('copes with whatever is thrown', async () => {
    const thrown: unknown = { reason: 'no error at all' };
    const topology = mapped((value) => {
      if (value === 'bad') throw thrown as Error;
      return value;
    });
    const setup = await setUpTask({ topology, deadLetterTopic: 'dlq', topics: ['dlq'] });
    setup.feed('a', ...input);
    expect(() => setup.task.process(10, 0)).toThrow("{ reason: 'no error at all' }");
    await setup.producer.flush();
    expect(letters(setup.cluster)).toMatchObject([
      {
        '__streams.errors.exception': 'object',
        '__streams.errors.message': "{ reason: 'no error at all' }",
      },
    ]);
  });

  it('asks about errors that a node of ours throws, as about any', async () => {
    const { asked, handler } = asking('continue');
    const topology = mapped(failOn('bad', new ProcessingError('a node says no')));
    const setup = await setUpTask({ topology, processing: handler });
    setup.feed('a', ...input);
    await run(setup);
    expect(asked).toHaveLength(1);
    expect(await setup.output()).toEqual(['k=1@1', 'k=3@3']);
  });

  it('passes control errors up unasked', async () => {
    const { asked, handler } = asking('continue');
    const topology = mapped(failOn('bad', new TaskMigratedError('gone')));
    const { task, feed } = await setUpTask({ topology, processing: handler });
    feed('a', ...input);
    expect(() => task.process(10, 0)).toThrow(TaskMigratedError);
    expect(asked).toEqual([]);
  });

  it.each<[string, () => unknown, RegExp]>([
    [
      'throws',
      () => {
        throw new Error('handler is broken');
      },
      /processing\.exception\.handler failed: handler is broken.*boom/,
    ],
    ['answers nothing', () => undefined, /it answered undefined/],
    ['answers null', () => null, /it answered null/],
    ['answers retry', () => 'retry', /it answered retry; .*fail, continue/],
  ])('ends the thread if the handler %s', async (_what, handler, message) => {
    const { task, feed } = await setUpTask({
      topology: mapped(failOn('bad')),
      processing: handler as ProcessingHandling,
    });
    feed('a', ...input);
    let thrown: unknown;
    try {
      task.process(10, 0);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(ExceptionHandlerError);
    expect((thrown as Error).message).toMatch(message);
  });

  it('is asked about values of the wrong type in a sink, and stores that cannot serialize', async () => {
    const builder = new StreamsBuilder();
    const stream = builder.stream('a', strings);
    stream
      .mapValues((value) => value.length as unknown as string, { name: 'length' })
      .to('out', strings);
    const { asked, handler } = asking('continue');
    const setup = await setUpTask({ topology: builder.build(), processing: handler });
    setup.feed('a', ...input);
    await run(setup);
    expect(asked).toHaveLength(3);
    expect(asked[0]?.context.processorNodeId).toBe('length');
    expect(asked[0]?.error).toBeInstanceOf(WrongTypeError);
    expect((asked[0]?.error as Error).message).toContain('topic out');
  });
});

describe('dead letters', () => {
  const queue = { deadLetterTopic: 'dlq', topics: ['dlq'] };

  it('are written by the built-in handlers with the source record and what went wrong', async () => {
    const setup = await setUpTask({
      ...queue,
      topology: mapped(failOn('bad')),
      processing: 'continue',
    });
    const headers = new RecordHeaders().add('h', 'x');
    setup.feed('a', { key: 'k', value: 'bad', timestamp: 2, headers });
    await run(setup);
    await setup.producer.flush();
    const [letter] = letters(setup.cluster);
    expect(letter).toMatchObject({
      key: 'k',
      value: 'bad',
      timestamp: '2',
      h: 'x',
      '__streams.errors.exception': 'RangeError',
      '__streams.errors.message': 'boom',
      '__streams.errors.topic': 'a',
      '__streams.errors.partition': '0',
      '__streams.errors.offset': '0',
    });
    expect(letter?.['__streams.errors.stacktrace']).toMatch(/^RangeError: boom\n {4}at /);
    expect(Object.keys(letter ?? {}).slice(3)).toEqual([
      'h',
      '__streams.errors.exception',
      '__streams.errors.message',
      '__streams.errors.stacktrace',
      '__streams.errors.topic',
      '__streams.errors.partition',
      '__streams.errors.offset',
    ]);
    // The record in hand keeps its own headers.
    expect(headers.size).toBe(1);
  });

  it('are written by a failing built-in handler, too', async () => {
    const setup = await setUpTask({ ...queue, topology: mapped(failOn('bad')) });
    setup.feed('a', ...input);
    expect(() => setup.task.process(10, 0)).toThrow(ProcessingError);
    await setup.producer.flush();
    expect(letters(setup.cluster)).toHaveLength(1);
  });

  it('tell the cause of a record that cannot be read', async () => {
    const builder = new StreamsBuilder();
    builder.stream('a', { key: serdes.string(), value: serdes.long() }).to('out', {
      key: serdes.string(),
      value: serdes.long(),
    });
    const topology = builder.build();
    const setup = await setUpTask({ ...queue, topology, deserialization: 'continue' });
    setup.feed('a', { key: 'k', value: 'short', timestamp: 5 });
    await run(setup);
    await setup.producer.flush();
    expect(letters(setup.cluster)).toMatchObject([
      {
        key: 'k',
        value: 'short',
        timestamp: '5',
        '__streams.errors.exception': 'SerializationError',
        '__streams.errors.topic': 'a',
        '__streams.errors.offset': '0',
      },
    ]);
    expect(setup.task.droppedCount).toBe(1);
  });

  it('come from functions only as they return them, and wait for a topic that is not known yet', async () => {
    const setup = await setUpTask({
      ...queue,
      topics: ['dlq', 'mine'],
      topology: mapped(failOn('bad')),
      processing: (context, record, error) => ({
        answer: 'continue',
        deadLetterRecords: [
          { topic: 'mine', key: Buffer.from('own'), value: Buffer.from(String(record?.value)) },
          deadLetter('mine', context, error),
        ],
      }),
    });
    setup.feed('a', ...input);
    await run(setup);
    await setup.task.prepareCommit();
    await setup.producer.flush();
    expect(letters(setup.cluster)).toEqual([]);
    expect(
      setup.cluster
        .log('mine')
        .records()
        .map(({ key, value }) => `${String(key)}=${String(value)}`),
    ).toEqual(['own=bad', 'k=bad']);
  });

  it('stop the commit if they cannot be written', async () => {
    const setup = await setUpTask({
      topology: mapped(failOn('bad')),
      processing: (context, _record, error) => ({
        answer: 'continue',
        deadLetterRecords: [deadLetter('nowhere', context, error)],
      }),
    });
    setup.feed('a', ...input);
    await run(setup);
    await expect(Promise.resolve(setup.task.prepareCommit())).rejects.toThrow(/nowhere/);
  });

  it('need their topic from the start', async () => {
    const starting = setUpTask({ topology: mapped(failOn('bad')), deadLetterTopic: 'nowhere' });
    await expect(starting).rejects.toThrow(/nowhere/);
  });
});

describe('deserialization.exception.handler', () => {
  it('is given the bytes, time and headers of the record', async () => {
    const builder = new StreamsBuilder();
    const serde = { key: serdes.string(), value: picky };
    builder.stream('a', serde).to('out', serde);
    const asked: unknown[] = [];
    const setup = await setUpTask({
      topology: builder.build(),
      deserialization: (context, record, error) => {
        asked.push(context.processorNodeId, String(record.value), record.timestamp);
        asked.push(error instanceof DeserializationError, error.cause);
        return { answer: 'continue' };
      },
    });
    setup.feed('a', ...input);
    await run(setup);
    expect(asked).toEqual([
      'KSTREAM-SOURCE-0000000000',
      'bad',
      2,
      true,
      new Error('cannot read this'),
    ]);
    expect(await setup.output()).toEqual(['k=1@1', 'k=3@3']);
  });
});

describe('production.exception.handler', () => {
  function written(value = picky): Topology {
    const builder = new StreamsBuilder();
    builder
      .stream('a', strings)
      .mapValues((text) => (text === 'bad' ? 'unwritable' : text), { name: 'map' })
      .to('out', { key: serdes.string(), value, name: 'sink' });
    return builder.build();
  }

  it('decides about what a serde refuses, and names the sink', async () => {
    const asked: unknown[] = [];
    const setup = await setUpTask({
      topology: written(),
      production: (context, record, error) => {
        asked.push(context.processorNodeId, context.topic, context.offset);
        asked.push(record.topic, record.key, record.value, error.stage, error.cause);
        return 'continue';
      },
    });
    setup.feed('a', ...input);
    await run(setup);
    expect(asked).toEqual([
      'sink',
      'a',
      1n,
      'out',
      'k',
      'unwritable',
      'value',
      new Error('cannot write this'),
    ]);
    expect(await setup.output()).toEqual(['k=1@1', 'k=3@3']);
    expect(setup.task.droppedCount).toBe(1);
  });

  it("is not the last word: what it fails is the processing handler's at the node before", async () => {
    const { asked, handler } = asking('continue');
    const setup = await setUpTask({ topology: written(), processing: handler });
    setup.feed('a', ...input);
    await run(setup);
    expect(asked).toHaveLength(1);
    expect(asked[0]?.context.processorNodeId).toBe('map');
    expect(asked[0]?.error).toBeInstanceOf(ProductionError);
    expect(await setup.output()).toEqual(['k=1@1', 'k=3@3']);
  });

  it('is never asked about a value of the wrong type', async () => {
    const builder = new StreamsBuilder();
    builder.stream('a', strings).to('out', { key: serdes.string(), value: serdes.long() as never });
    const { task, feed } = await setUpTask({ topology: builder.build(), production: 'continue' });
    feed('a', ...input);
    expect(() => task.process(10, 0)).toThrow(WrongTypeError);
  });

  it('takes retry for fail where there is nothing to retry', async () => {
    const refusing = {
      ...picky,
      serialize: () => {
        throw new SerializationError('never');
      },
    };
    const setup = await setUpTask({ topology: written(refusing), production: () => 'retry' });
    setup.feed('a', ...input);
    expect(() => setup.task.process(10, 0)).toThrow(ProcessingError);
  });
});
