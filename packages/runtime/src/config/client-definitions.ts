import { parseAutoOffsetReset } from './auto-offset-reset.ts';
import { atLeast, define, oneOf } from './definition.ts';

const fixed = 'Fixed by the runtime.';
const none = { effect: false } as const;

/**
 * Keys of the clients below the runtime, with the defaults that Kafka Streams gives them. Each may
 * stand bare, or under the prefix of its clients, which counts for more.
 */
export const consumerDefinitions = [
  define(
    'auto.offset.reset',
    'string',
    'earliest',
    'Where a source starts that has no committed offset.',
    {
      allowed: {
        text: 'one of earliest, latest, none, or by_duration: and an ISO 8601 duration such as PT12H',
        accepts: (value) => typeof value === 'string' && parseAutoOffsetReset(value) !== null,
      },
    },
  ),
  define('fetch.min.bytes', 'int', 1, 'Bytes that a broker waits for before it answers a fetch.', {
    allowed: atLeast(0),
  }),
  define('fetch.max.wait.ms', 'int', 500, 'How long it waits for them.', { allowed: atLeast(0) }),
  define('fetch.max.bytes', 'int', 52_428_800, 'Largest answer to one fetch.', {
    allowed: atLeast(0),
  }),
  define('max.partition.fetch.bytes', 'int', 1_048_576, 'Largest part of one partition in it.', {
    allowed: atLeast(0),
  }),
  define('session.timeout.ms', 'int', 45_000, 'How long the group waits for a heartbeat.', {
    allowed: atLeast(1),
  }),
  define('heartbeat.interval.ms', 'int', 3_000, 'Distance of heartbeats.', { allowed: atLeast(1) }),
  define(
    'max.poll.interval.ms',
    'int',
    300_000,
    'How long a member may take to finish and commit when the group rebalances.',
    { allowed: atLeast(1) },
  ),
  define(
    'group.instance.id',
    'nullableString',
    null,
    'Makes members static: -<thread> is added to it.',
  ),
  define(
    'max.poll.records',
    'int',
    1_000,
    'Records are not polled in portions; accepted, without effect.',
    { allowed: atLeast(1), ...none },
  ),
  define(
    'isolation.level',
    'string',
    'read_uncommitted',
    'Whether records of open and aborted transactions are seen.',
    { allowed: oneOf('read_uncommitted', 'read_committed') },
  ),
  define('enable.auto.commit', 'boolean', false, fixed, {
    allowed: { text: 'false', accepts: (value) => value === false },
    ...none,
  }),
  define('allow.auto.create.topics', 'boolean', false, fixed, {
    allowed: { text: 'false', accepts: (value) => value === false },
    ...none,
  }),
] as const;

export const producerDefinitions = [
  define('linger.ms', 'long', 100, 'How long a batch waits for more records.', {
    allowed: atLeast(0),
  }),
  define('batch.size', 'int', 16_384, 'Bytes at which a batch is sent.', { allowed: atLeast(0) }),
  define(
    'buffer.memory',
    'long',
    33_554_432,
    'Bytes that wait to be sent before processing pauses.',
    { allowed: atLeast(0) },
  ),
  define('compression.type', 'string', 'none', 'Codec of batches.', {
    allowed: oneOf('none', 'gzip', 'snappy', 'lz4', 'zstd'),
  }),
  define('delivery.timeout.ms', 'int', 120_000, 'How long a record may take to be acknowledged.', {
    allowed: atLeast(0),
  }),
  define(
    'enable.idempotence',
    'boolean',
    true,
    'Batches are numbered, so that a retry makes no duplicate.',
    { allowed: { text: 'true', accepts: (value) => value === true }, ...none },
  ),
  define('acks', 'string', 'all', fixed, { allowed: oneOf('all', '-1'), ...none }),
  define('max.in.flight.requests.per.connection', 'int', 5, fixed, {
    allowed: {
      text: '1 to 5',
      accepts: (value) => (value as number) >= 1 && (value as number) <= 5,
    },
    ...none,
  }),
  define('max.request.size', 'int', 1_048_576, 'Largest record.', { allowed: atLeast(0) }),
] as const;
