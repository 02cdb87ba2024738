import { RecordHeaders } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import { TopologyError } from '../errors.ts';
import { ProcessOperator } from './process.ts';
import type { FixedKeyProcessorContext, Processor, ProcessorContext } from './processor-api.ts';
import { ProcessorUsageError } from './processor-usage-error.ts';
import { FixedKeyRecord, StreamRecord } from './stream-record.ts';
import { CaptureNode, TaskDouble } from './testing-support/task-double.ts';

type Context = ProcessorContext<unknown, unknown>;
type Body = (record: StreamRecord<unknown, unknown>, context: Context) => unknown;

/** A processor that is one function, with two nodes below it. */
function processor(body: Body, init: (context: Context) => unknown = () => undefined) {
  let context: Context | null = null;
  const user: Processor<unknown, unknown> = {
    init: (given) => {
      context = given;
      return init(given);
    },
    process: (record) => body(record, context as unknown as Context),
  };
  return start(new ProcessOperator('p', user, false));
}

function start(node: ProcessOperator) {
  const task = new TaskDouble();
  const [one, two] = [new CaptureNode('one'), new CaptureNode('two')];
  for (const child of [one, two]) node.children.add(child);
  node.connect(new Set());
  node.init(task.context);
  const started = node.start();
  return { node, task, one, two, started };
}

describe('process', () => {
  it('forwards what the processor forwards, to all nodes below or to one', () => {
    const { node, one, two } = processor((record, context) => {
      void context.forward(record);
      void context.forward(record.withKey('other').withTimestamp(9), 'two');
      void context.forward({ key: 'plain', value: undefined, timestamp: 1 }, 'one');
    });
    expect(node.process('k', 'v', null, 7, null)).toBeUndefined();
    expect(one.take()).toEqual(['k=v@7', 'plain=null@1']);
    expect(two.take()).toEqual(['k=v@7', 'other=v@9']);
  });

  it('gives every record headers of its own', () => {
    const given = new RecordHeaders().add('h', '1');
    const { node, one } = processor((record, context) => {
      record.headers.add('x', '2');
      void context.forward(record, 'one');
      void context.forward(record.withHeaders(new RecordHeaders()), 'one');
    });
    void node.process('k', 'v', null, 7, given);
    void node.process('k', 'v', null, 8, null);
    expect(given.size).toBe(1);
    const names = one.forwarded.map(({ headers }) => headers?.toArray().map(({ key }) => key));
    expect(names).toEqual([['h', 'x'], [], ['x'], []]);
  });

  it('tells the processor where it is', () => {
    const seen: unknown[] = [];
    const { node, task } = processor(
      (_record, context) => {
        seen.push(context.recordMetadata, context.taskId, context.applicationId);
        context.commit();
      },
      (context) => {
        seen.push(context.recordMetadata, context.appConfigs['application.id']);
      },
    );
    void node.process('k', 'v', null, 7, null);
    const metadata = { topic: 'in', partition: 0, offset: 0n };
    expect(seen).toEqual([null, 'test', metadata, '0_0', 'test']);
    expect(task.commitRequests).toBe(1);
  });

  it.each([-1, 1.5, Number.NaN, Infinity])('refuses to forward a timestamp of %d', (timestamp) => {
    const { node, one } = processor((_record, context) =>
      context.forward({ key: 'k', value: 'v', timestamp }),
    );
    expect(() => node.process('k', 'v', null, 7, null)).toThrow(ProcessorUsageError);
    expect(() => new StreamRecord('k', 'v', timestamp)).toThrow(/whole number/u);
    expect(one.take()).toEqual([]);
  });

  it('names the nodes below when one is asked for that is not there', () => {
    const { node } = processor((record, context) => context.forward(record, 'three'));
    expect(() => node.process('k', 'v', null, 7, null)).toThrow(/three.*Below it are: one, two/su);
  });

  it('refuses to forward when no record is in hand', () => {
    let kept: (() => unknown) | null = null;
    const { node } = processor((record, context) => {
      kept = () => context.forward(record);
    });
    void node.process('k', 'v', null, 7, null);
    expect(kept).toThrow(/neither a record nor a punctuation/u);
    const early = processor(
      () => undefined,
      (context) => context.schedule(1, 'stream-time', () => context.forward({} as never)),
    );
    expect(early.started).toBeUndefined();
  });

  it('gives access to connected stores only', () => {
    expect(() =>
      processor(
        () => undefined,
        (context) => context.getStateStore('st'),
      ),
    ).toThrow(TopologyError);
  });

  it('waits for an asynchronous init', async () => {
    let isReady = false;
    const { started } = processor(
      () => undefined,
      async () => {
        await Promise.resolve();
        isReady = true;
      },
    );
    expect(started).toBeInstanceOf(Promise);
    await started;
    expect(isReady).toBe(true);
  });
});

describe('process, asynchronously', () => {
  it('keeps the order and waits for everything, though the processor does not wait', async () => {
    const { node, one, two } = processor((record, context) => {
      for (const value of ['a', 'b', 'c']) void context.forward(record.withValue(value));
    });
    two.isAsynchronous = true;
    const outcome = node.process('k', 'v', null, 7, null);
    expect(outcome).toBeInstanceOf(Promise);
    expect(one.take()).toEqual(['k=a@7']);
    await outcome;
    expect(one.take()).toEqual(['k=b@7', 'k=c@7']);
    expect(two.take()).toEqual(['k=a@7', 'k=b@7', 'k=c@7']);
    two.isAsynchronous = false;
    expect(node.process('k', 'v', null, 8, null)).toBeUndefined();
  });

  it('lets the processor wait, and forward after that', async () => {
    const { node, one } = processor(async (record, context) => {
      await context.forward(record.withValue('before'));
      await Promise.resolve();
      await context.forward(record.withValue('after'));
    });
    one.isAsynchronous = true;
    await node.process('k', 'v', null, 7, null);
    expect(one.take()).toEqual(['k=before@7', 'k=after@7']);
  });

  it('fails the record with what fails below, waited for or not, caught or not', async () => {
    const bodies: Body[] = [
      (record, context) => void context.forward(record),
      async (record, context) => {
        await context.forward(record);
      },
      async (record, context) => {
        await Promise.resolve(context.forward(record)).catch(() => 'caught');
      },
      async (record, context) => {
        void context.forward(record);
        await new Promise((resolve) => setImmediate(resolve));
      },
    ];
    for (const body of bodies) {
      const { node, one } = processor(body);
      one.process = () => Promise.reject(new Error('below'));
      await expect(node.process('k', 'v', null, 7, null)).rejects.toThrow('below');
      one.process = () => undefined;
      await node.process('k', 'v', null, 8, null);
    }
  });

  it('lets what was forwarded get through before its own error ends the record', async () => {
    const { node, one } = processor((record, context) => {
      void context.forward(record);
      throw new Error('own');
    });
    one.isAsynchronous = true;
    await expect(node.process('k', 'v', null, 7, null)).rejects.toThrow('own');
    expect(one.take()).toEqual(['k=v@7']);
  });

  it('refuses to forward once the promise has resolved', async () => {
    let late: Promise<unknown> = Promise.resolve();
    const { node } = processor(async (record, context) => {
      await Promise.resolve();
      late = new Promise((resolve) => setImmediate(resolve)).then(() => context.forward(record));
    });
    await node.process('k', 'v', null, 7, null);
    await expect(late).rejects.toThrow(ProcessorUsageError);
  });
});

describe('processValues', () => {
  function fixed(
    body: (
      record: FixedKeyRecord<unknown, unknown>,
      context: FixedKeyProcessorContext<unknown, unknown>,
    ) => unknown,
  ) {
    let context: FixedKeyProcessorContext<unknown, unknown> | null = null;
    const user = {
      init: (given: FixedKeyProcessorContext<unknown, unknown>) => {
        context = given;
      },
      process: (record: FixedKeyRecord<unknown, unknown>) =>
        body(record, context as unknown as FixedKeyProcessorContext<unknown, unknown>),
    };
    return start(new ProcessOperator('p', user, true));
  }

  it('forwards under the key that the record had', () => {
    const { node, one } = fixed((record, context) => {
      expect('withKey' in record).toBe(false);
      void context.forward(record.withValue('w').withTimestamp(9));
    });
    void node.process('k', 'v', null, 7, null);
    expect(one.take()).toEqual(['k=w@9']);
  });

  it('refuses a record that was made otherwise', () => {
    const { node } = fixed((record, context) =>
      context.forward(new StreamRecord('other', record.value, 7) as never),
    );
    expect(() => node.process('k', 'v', null, 7, null)).toThrow(/of its own making/u);
  });
});

describe('punctuation of a processor', () => {
  it.each<[unknown, unknown]>([
    [0, 0],
    ['soon', 0],
    [0.5, 0],
    [10, -1],
    [10, 1.5],
  ])('every %s from %s is refused', (interval, startTime) => {
    expect(() =>
      processor(
        () => undefined,
        (context) =>
          context.schedule(interval as number, 'stream-time', () => undefined, {
            startTime: startTime as number,
          }),
      ),
    ).toThrow(ProcessorUsageError);
  });

  it('may forward, in order, and fails like a record', async () => {
    const { task, one } = processor(
      () => undefined,
      (context) => {
        context.schedule('10ms', 'stream-time', (now) => {
          if (now === 20) throw new Error('no');
          void context.forward({ key: 'tick', value: '1', timestamp: now });
          void context.forward({ key: 'tick', value: '2', timestamp: now });
        });
      },
    );
    expect(task.punctuations.run('stream-time', 5)).toBeUndefined();
    one.isAsynchronous = true;
    await task.punctuations.run('stream-time', 10);
    expect(one.take()).toEqual(['tick=1@5', 'tick=2@5', 'tick=1@10', 'tick=2@10']);
    expect(() => task.punctuations.run('stream-time', 20)).toThrow('no');
  });
});
