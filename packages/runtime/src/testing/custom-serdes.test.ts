import { RecordHeaders } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import { StreamsBuilder } from '../dsl/streams-builder.ts';
import type { ProductionExceptionHandler } from '../error-handlers.ts';
import { serdes } from '../serdes/serdes.ts';
import { TopologyTestDriver } from './topology-test-driver.ts';

const text = serdes.string();

/** Writes its text plain and puts where it went into a header; reads with what the headers say. */
const labelled = serdes.custom<string>({
  name: 'labelled',
  serialize(value, topic, headers) {
    if (value === 'bad') throw new Error('refused');
    headers?.add('written-to', topic);
    return Buffer.from(value);
  },
  deserialize(bytes, topic, headers) {
    const unit = headers?.last('unit')?.value?.toString() ?? 'none';
    return `${Buffer.from(bytes).toString()} ${unit} ${topic}`;
  },
});

const unit = (name: string): RecordHeaders => new RecordHeaders().add('unit', name);

describe('a custom serde in a topology', () => {
  it('is told the topic and headers of what it reads, and adds headers to what it writes', async () => {
    const builder = new StreamsBuilder();
    builder
      .stream(['in', 'other'], { key: text, value: labelled })
      .to('out', { key: text, value: labelled });
    const driver = new TopologyTestDriver(builder.build());
    const out = driver.createOutputTopic('out', { key: text, value: text });
    await driver
      .createInputTopic('in', { key: text, value: text })
      .pipe('k', '1', { headers: unit('m') });
    await driver.createInputTopic('other', { key: text, value: text }).pipe('k', '2');
    const [first, second] = out.readRecords();
    expect(first?.value).toBe('1 m in');
    expect(first?.headers.toArray().map(({ key, value }) => `${key}=${String(value)}`)).toEqual([
      'unit=m',
      'written-to=out',
    ]);
    expect(second?.value).toBe('2 none other');
    expect(second?.headers.toArray().map(({ key }) => key)).toEqual(['written-to']);
    await driver.close();
  });

  it('is asked before a timestamp extractor, and once', async () => {
    let reads = 0;
    const counting = serdes.custom<string>({
      serialize: (value) => Buffer.from(value),
      deserialize(bytes, _topic, headers) {
        reads++;
        headers?.add('read', 'yes');
        return Buffer.from(bytes).toString();
      },
    });
    const builder = new StreamsBuilder();
    builder
      .stream('in', { key: text, value: counting, timestampExtractor: () => 5 })
      .to('out', { key: text, value: text });
    const driver = new TopologyTestDriver(builder.build());
    const out = driver.createOutputTopic('out', { key: text, value: text });
    await driver
      .createInputTopic('in', { key: text, value: text })
      .pipe('k', 'v', { headers: unit('m') });
    const record = out.readRecord();
    expect(record.timestamp).toBe(5);
    // What it adds goes on with the record.
    expect(record.headers.last('read')?.value?.toString()).toBe('yes');
    expect(reads).toBe(1);
    await driver.close();
  });

  it("that fails in a sink is the production handler's business, as the key or the value", async () => {
    const stages: string[] = [];
    const handler: ProductionExceptionHandler = (_context, _record, error) => {
      stages.push(error.stage);
      return 'continue';
    };
    const builder = new StreamsBuilder();
    const source = builder.stream('in', { key: text, value: text });
    source.to('out', { key: text, value: labelled });
    source.to('keyed', { key: labelled, value: text });
    const driver = new TopologyTestDriver(builder.build(), {
      'production.exception.handler': handler,
    });
    const out = driver.createOutputTopic('out', { key: text, value: text });
    const input = driver.createInputTopic('in', { key: text, value: text });
    await input.pipe('k', 'bad');
    await input.pipe('bad', 'v');
    expect(stages).toEqual(['value', 'key']);
    expect(out.readValues()).toEqual(['v']);
    await driver.close();
  });
});
