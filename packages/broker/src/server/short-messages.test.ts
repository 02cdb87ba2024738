import { DescribeConfigs, errorCodes, Metadata } from '@millrace/protocol';
import { expect, it } from 'vitest';
import { startBroker } from '../start-broker.ts';
import { TestClient } from '../testing-support/test-client.ts';
import { withShortMessages } from './short-messages.ts';

it('shortens messages wherever they are, and nothing else', () => {
  const long = 'x'.repeat(40_000);
  const bytes = Buffer.from('bytes');
  const answer = {
    errorMessage: long,
    name: long,
    parts: [{ message: long, bytes, code: 1n }, null],
  };
  const short = 'x'.repeat(2_000);
  expect(withShortMessages(answer)).toEqual({
    errorMessage: short,
    name: long,
    parts: [{ message: short, bytes, code: 1n }, null],
  });
});

it('an error about the longest of names is told, not a reason to close the connection', async () => {
  const broker = await startBroker({ inProcess: true });
  const client = await TestClient.connect(broker);
  try {
    const { results } = await client.send(DescribeConfigs, 4, {
      resources: [{ resourceType: 4, resourceName: 'y'.repeat(32_767), configurationKeys: null }],
    });
    expect(results[0]).toMatchObject({ errorCode: errorCodes.INVALID_REQUEST });
    expect(results[0]?.errorMessage).toHaveLength(2_000);
    // Bytes that are no UTF-8 are three times as long when they are said again.
    const name = Buffer.alloc(32_767, 0xff);
    const head = Buffer.from('00000000000300010000000100000000000100007fff', 'hex');
    head.writeInt32BE(head.length - 4 - 2 + name.length, 0);
    client.write(Buffer.concat([head.subarray(0, 14), head.subarray(16), name]));
    await client.closed;
    const other = await TestClient.connect(broker);
    expect((await other.send(Metadata, 1, { topics: [] })).topics).toEqual([]);
    await other.close();
  } finally {
    await client.close();
    await broker.close();
  }
});
