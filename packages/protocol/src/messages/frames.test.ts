import { describe, expect, it } from 'vitest';
import { ProtocolError } from '../bytes/protocol-error.ts';
import { ApiVersions } from './api-versions.ts';
import { apis } from './apis.ts';
import { Fetch } from './fetch.ts';
import { readFixture } from './testing-support/fixtures.ts';
import {
  decodeRequest,
  decodeRequestHeader,
  decodeResponse,
  encodeRequest,
  encodeRequestBody,
  encodeResponse,
} from './frames.ts';
import { ListGroups } from './list-groups.ts';
import { Metadata } from './metadata.ts';
import { Produce } from './produce.ts';
import { UnsupportedVersionError } from './unsupported-version-error.ts';

type HeaderFixture = [
  key: number,
  version: number,
  clientId: string | null,
  request: string,
  response: string,
];
const headers = readFixture('headers.jsonl') as HeaderFixture[];

function errorOf(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

describe('headers of every API and version, against the bytes of Kafka 4.4', () => {
  it('writes and reads request headers', () => {
    for (const [key, version, clientId, base64] of headers) {
      const api = apis.get(key);
      if (api === undefined) throw new Error(`API ${key} is not declared`);
      const what = `${api.name} version ${version}`;
      const expected = Buffer.from(base64, 'base64');
      const sent = Buffer.concat(encodeRequest(api, version, { correlationId: 77, clientId }, {}));
      expect(sent.readInt32BE(0), what).toBe(sent.length - 4);
      const frame = sent.subarray(4);
      expect(frame.subarray(0, expected.length).toString('hex'), what).toBe(
        expected.toString('hex'),
      );
      expect(decodeRequestHeader(frame), what).toEqual({
        apiKey: key,
        apiVersion: version,
        correlationId: 77,
        clientId,
        bodyPosition: expected.length,
      });
      expect(
        frame.subarray(expected.length).equals(encodeRequestBody(api, version, {})),
        what,
      ).toBe(true);
    }
  });

  it('writes response headers and reads what follows the correlation id', () => {
    for (const [key, version, , , base64] of headers) {
      const api = apis.get(key);
      if (api === undefined) throw new Error(`API ${key} is not declared`);
      const expected = Buffer.from(base64, 'base64');
      const sent = Buffer.concat(encodeResponse(api, version, 77, {}));
      expect(sent.readInt32BE(0)).toBe(sent.length - 4);
      expect(sent.subarray(4, 4 + expected.length).toString('hex')).toBe(expected.toString('hex'));
      expect(() => decodeResponse(api, version, sent.subarray(8))).not.toThrow();
    }
  });

  it('covers all declared versions', () => {
    const covered = new Set(headers.map(([key, version]) => `${key} ${version}`));
    for (const api of apis.values()) {
      for (let version = api.minVersion; version <= api.maxVersion; version++) {
        expect(covered).toContain(`${api.key} ${version}`);
      }
    }
  });
});

describe('chunks', () => {
  const records = Buffer.alloc(4000, 7);
  const body = {
    responses: [
      {
        topic: 'a',
        partitions: [{ records }, { records: records.subarray(0, 100) }, { records }],
      },
    ],
  };

  it.each([4, 11, 12])('passes large records on without copying (Fetch version %i)', (version) => {
    const chunks = encodeResponse(Fetch, version, 1, body);
    expect(chunks.filter((chunk) => chunk.buffer === records.buffer)).toHaveLength(2);
    const sent = Buffer.concat(chunks);
    expect(sent.readInt32BE(0)).toBe(sent.length - 4);
    const decoded = decodeResponse(Fetch, version, sent.subarray(8));
    const sizes = decoded.responses[0]?.partitions.map((partition) => partition.records?.length);
    expect(sizes).toEqual([4000, 100, 4000]);
    expect(decoded.responses[0]?.partitions[2]?.records?.equals(records)).toBe(true);
  });

  it('gives decoded records as views of the frame', () => {
    const frame = Buffer.concat(
      encodeRequest(
        Produce,
        9,
        { correlationId: 1, clientId: 'a' },
        {
          topicData: [{ name: 't', partitionData: [{ records }] }],
        },
      ),
    ).subarray(4);
    const { bodyPosition } = decodeRequestHeader(frame);
    const request = decodeRequest(Produce, 9, frame, bodyPosition);
    expect(request.topicData[0]?.partitionData[0]?.records?.buffer).toBe(frame.buffer);
  });

  it('takes a plain Uint8Array', () => {
    const plain = new Uint8Array(2000).fill(3);
    const sent = Buffer.concat(
      encodeRequest(
        Produce,
        3,
        { correlationId: 1, clientId: null },
        {
          topicData: [{ name: 't', partitionData: [{ records: plain }] }],
        },
      ),
    );
    expect(sent.subarray(-2000).every((byte) => byte === 3)).toBe(true);
  });
});

describe('what cannot be decoded', () => {
  function header(key: number, version: number): Buffer {
    const frame = Buffer.alloc(10, 0xff);
    frame.writeInt16BE(key, 0);
    frame.writeInt16BE(version, 2);
    frame.writeInt32BE(4711, 4);
    return frame;
  }

  it.each([
    [999, 0],
    [-1, 0],
    [Produce.key, 2],
    [Fetch.key, 19],
    [ApiVersions.key, 6],
    [ApiVersions.key, -1],
  ])('names key, version and correlation id for API %i version %i', (key, version) => {
    const error = errorOf(() => decodeRequestHeader(header(key, version)));
    expect(error).toBeInstanceOf(UnsupportedVersionError);
    expect(error).toMatchObject({
      code: 'PROTOCOL_UNSUPPORTED_VERSION',
      apiKey: key,
      apiVersion: version,
      correlationId: 4711,
    });
  });

  it('refuses headers that are cut or lie about the length of the client id', () => {
    const whole = Buffer.concat(
      encodeRequest(Metadata, 12, { correlationId: 1, clientId: 'client' }, {}),
    ).subarray(4);
    const { bodyPosition } = decodeRequestHeader(whole);
    for (let length = 0; length < bodyPosition; length++) {
      expect(() => decodeRequestHeader(whole.subarray(0, length))).toThrow(ProtocolError);
    }
    whole.writeInt16BE(-2, 8);
    expect(() => decodeRequestHeader(whole)).toThrow(ProtocolError);
  });

  it('skips unknown tagged fields of a header', () => {
    const sent = Buffer.concat(
      encodeRequest(ListGroups, 3, { correlationId: 1, clientId: null }, {}),
    ).subarray(4);
    const { bodyPosition } = decodeRequestHeader(sent);
    const tagged = Buffer.concat([
      sent.subarray(0, bodyPosition - 1),
      Buffer.from([2, 0, 1, 9, 5, 0]),
      sent.subarray(bodyPosition),
    ]);
    expect(decodeRequestHeader(tagged).bodyPosition).toBe(bodyPosition + 5);
  });

  it('leaves bytes behind a body alone, as Kafka does', () => {
    const body = encodeRequestBody(ListGroups, 0, {});
    expect(decodeRequest(ListGroups, 0, Buffer.concat([body, Buffer.from([9])]), 0)).toEqual({
      statesFilter: [],
      typesFilter: [],
    });
  });
});

describe('a request of nothing but small elements', () => {
  const partitions = (count: number): object => ({
    topics: [{ partitions: Array.from({ length: count }, () => ({})) }],
  });
  const decode = (count: number): unknown => {
    const body = Buffer.concat(
      encodeRequest(Fetch, 12, { correlationId: 1, clientId: null }, partitions(count)),
    ).subarray(4);
    return decodeRequest(Fetch, 12, body, decodeRequestHeader(body).bodyPosition);
  };

  it('is refused before it takes many times the memory of its bytes', () => {
    expect(decode(90_000)).toBeDefined();
    expect(() => decode(100_000)).toThrow(/more than one message may have/);
  });
});

describe('ApiVersions', () => {
  it('is read as version 0 when the broker does not know the version that was asked', () => {
    const apiKeys = [{ apiKey: 18, minVersion: 0, maxVersion: 3 }];
    const sent = Buffer.concat(encodeResponse(ApiVersions, 0, 1, { errorCode: 35, apiKeys }));
    const decoded = decodeResponse(ApiVersions, 4, sent.subarray(8));
    expect(decoded).toMatchObject({ errorCode: 35, apiKeys });
  });
});

describe('what cannot be encoded', () => {
  const origin = { correlationId: 1, clientId: null };

  function partition(value: object): object {
    return { topics: [{ topic: 't', partitions: [{}, value] }] };
  }

  it.each([
    ['a number out of range', { partition: 2 ** 31 }, 'PROTOCOL_INVALID_VALUE', 'partition'],
    ['a fraction', { partition: 0.5 }, 'PROTOCOL_INVALID_VALUE', 'partition'],
    ['a number for an int64', { fetchOffset: 5 }, 'PROTOCOL_INVALID_VALUE', 'fetchOffset'],
    ['an int64 out of range', { fetchOffset: 2n ** 63n }, 'PROTOCOL_INVALID_VALUE', 'fetchOffset'],
    ['null', { partition: null }, 'PROTOCOL_INVALID_VALUE', 'partition'],
    [
      'a field of later versions',
      { lastFetchedEpoch: 3 },
      'PROTOCOL_UNSUPPORTED_FIELD',
      'lastFetchedEpoch',
    ],
  ])('names API, version and field for %s', (_what, value, code, field) => {
    const error = errorOf(() => encodeRequest(Fetch, 11, origin, partition(value)));
    expect(error).toBeInstanceOf(ProtocolError);
    expect(error).toMatchObject({ code });
    expect(String(error)).toContain(
      `cannot encode FetchRequest version 11: topics[0].partitions[1].${field}: `,
    );
  });

  it('refuses strings above 32767 bytes, in the classic and the compact form', () => {
    const rackId = 'ü'.repeat(16_384);
    for (const version of [11, 12]) {
      expect(() => encodeRequest(Fetch, version, origin, { rackId })).toThrow(/rackId.*32768/);
    }
    const longest = 'x'.repeat(32_767);
    const body = encodeRequestBody(Fetch, 12, { rackId: longest });
    expect(decodeRequest(Fetch, 12, body, 0).rackId).toBe(longest);
  });

  it('refuses null where the version does not know it', () => {
    const topics = [{ topicId: 'AAAAAAAAAAAAAAAAAAAAAQ', name: null }];
    expect(() => encodeRequest(Metadata, 9, origin, { topics })).toThrow(/topics\[0\]\.name: null/);
    expect(() => encodeRequest(Metadata, 10, origin, { topics })).not.toThrow();
  });

  it('refuses versions that are not declared', () => {
    for (const version of [2, 14, 3.5, NaN]) {
      expect(errorOf(() => encodeRequest(Produce, version, origin, {}))).toMatchObject({
        code: 'PROTOCOL_UNSUPPORTED_VERSION',
      });
    }
  });

  it('drops what the version lacks when the field is ignorable', () => {
    const body = encodeRequestBody(Fetch, 12, { topics: [{ topicId: 'AAAAAAAAAAAAAAAAAAAAAQ' }] });
    expect(decodeRequest(Fetch, 12, body, 0).topics[0]?.topicId).toBe('AAAAAAAAAAAAAAAAAAAAAA');
  });
});
