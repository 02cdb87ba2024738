import { parseAutoOffsetReset } from './auto-offset-reset.ts';
import { atLeast, define, oneOf } from './definition.ts';

const fixed = 'Fixed by the runtime.';
const transport = 'Belongs to the transport, which manages it itself; accepted, without effect.';
const none = { effect: false } as const;

/** Keys of every client that Kafka Streams passes on. */
const anyClientDefinitions = [
  define('retry.backoff.max.ms', 'long', 1_000, transport, { allowed: atLeast(0), ...none }),
  define('socket.connection.setup.timeout.ms', 'long', 10_000, transport, {
    importance: 'medium',
    ...none,
  }),
  define('socket.connection.setup.timeout.max.ms', 'long', 30_000, transport, {
    importance: 'medium',
    ...none,
  }),
  define('client.dns.lookup', 'string', 'use_all_dns_ips', transport, {
    importance: 'medium',
    allowed: oneOf('use_all_dns_ips', 'resolve_canonical_bootstrap_servers_only'),
    ...none,
  }),
  define('interceptor.classes', 'list', [], 'Classes of the JVM; accepted, without effect.', none),
] as const;

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
      importance: 'medium',
      allowed: {
        text: 'one of earliest, latest, none, or by_duration: and an ISO 8601 duration such as PT12H',
        accepts: (value) => typeof value === 'string' && parseAutoOffsetReset(value) !== null,
      },
    },
  ),
  define('fetch.min.bytes', 'int', 1, 'Bytes that a broker waits for before it answers a fetch.', {
    importance: 'high',
    allowed: atLeast(0),
  }),
  define('fetch.max.wait.ms', 'int', 500, 'How long it waits for them.', { allowed: atLeast(0) }),
  define(
    'fetch.max.bytes',
    'int',
    52_428_800,
    'Largest answer to one fetch; of input partitions, 3 MiB.',
    {
      importance: 'medium',
      allowed: atLeast(0),
    },
  ),
  define('max.partition.fetch.bytes', 'int', 1_048_576, 'Largest part of one partition in it.', {
    importance: 'high',
    allowed: atLeast(0),
  }),
  define('session.timeout.ms', 'int', 45_000, 'How long the group waits for a heartbeat.', {
    importance: 'high',
    allowed: atLeast(1),
  }),
  define(
    'heartbeat.interval.ms',
    'int',
    3_000,
    'Distance of heartbeats; below session.timeout.ms.',
    {
      importance: 'high',
      allowed: atLeast(1),
    },
  ),
  define(
    'max.poll.interval.ms',
    'int',
    300_000,
    'How long a member may take to finish and commit when the group rebalances, and how long an asynchronous function may have a record in hand.',
    { importance: 'medium', allowed: atLeast(1) },
  ),
  define(
    'group.instance.id',
    'nullableString',
    null,
    'Makes members static: -<thread> is added to it.',
    {
      importance: 'medium',
      allowed: { text: 'not empty', accepts: (value) => value !== '' },
    },
  ),
  define(
    'max.poll.records',
    'int',
    1_000,
    'Records are not polled in portions; accepted, without effect.',
    { importance: 'medium', allowed: atLeast(1), ...none },
  ),
  define(
    'isolation.level',
    'string',
    'read_uncommitted',
    'Whether records of open and aborted transactions are seen. Under exactly_once_v2 always read_committed.',
    { importance: 'medium', allowed: oneOf('read_uncommitted', 'read_committed') },
  ),
  define('enable.auto.commit', 'boolean', false, fixed, {
    importance: 'medium',
    allowed: { text: 'false', accepts: (value) => value === false },
    ...none,
  }),
  define('allow.auto.create.topics', 'boolean', false, fixed, {
    importance: 'medium',
    allowed: { text: 'false', accepts: (value) => value === false },
    ...none,
  }),
  define('exclude.internal.topics', 'boolean', true, fixed, {
    importance: 'medium',
    allowed: { text: 'true', accepts: (value) => value === true },
    ...none,
  }),
  define('check.crcs', 'boolean', true, 'Accepted; without effect in this version.', none),
  define('client.rack', 'string', '', 'Accepted; without effect in this version.', none),
  define(
    'default.api.timeout.ms',
    'int',
    60_000,
    'What times out is retried for task.timeout.ms; accepted, without effect.',
    { importance: 'medium', allowed: atLeast(0), ...none },
  ),
  ...anyClientDefinitions,
] as const;

export const producerDefinitions = [
  define('linger.ms', 'long', 100, 'How long a batch waits for more records.', {
    importance: 'medium',
    allowed: atLeast(0),
  }),
  define('batch.size', 'int', 16_384, 'Bytes at which a batch is sent.', {
    importance: 'medium',
    allowed: atLeast(0),
  }),
  define(
    'buffer.memory',
    'long',
    33_554_432,
    'Bytes that wait to be sent before processing pauses.',
    { importance: 'high', allowed: atLeast(0) },
  ),
  define('compression.type', 'string', 'none', 'Codec of batches.', {
    importance: 'high',
    allowed: oneOf('none', 'gzip', 'snappy', 'lz4', 'zstd'),
  }),
  define(
    'delivery.timeout.ms',
    'int',
    120_000,
    'How long a record may take to be acknowledged; at least linger.ms and request.timeout.ms together.',
    { importance: 'medium', allowed: atLeast(0) },
  ),
  define(
    'enable.idempotence',
    'boolean',
    true,
    'Batches are numbered, so that a retry makes no duplicate. Fixed by the runtime.',
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
  define('max.request.size', 'int', 1_048_576, 'Largest record.', {
    importance: 'medium',
    allowed: atLeast(0),
  }),
  define(
    'retries',
    'int',
    0x7fffffff,
    'What can be retried is, until delivery.timeout.ms; accepted, without effect.',
    { importance: 'high', allowed: atLeast(0), ...none },
  ),
  define(
    'max.block.ms',
    'long',
    60_000,
    'Nothing blocks: processing pauses until there is room; accepted, without effect.',
    { importance: 'medium', allowed: atLeast(0), ...none },
  ),
  define(
    'transaction.timeout.ms',
    'int',
    10_000,
    'A transaction that is open for longer is aborted by the broker. Of exactly_once_v2; no shorter than the commit interval.',
    { allowed: atLeast(1) },
  ),
  ...anyClientDefinitions,
] as const;

/**
 * Keys of the application that Kafka's clients have as well. Here all connections are made alike, so
 * under the prefix of one client they are accepted without effect.
 */
export const sharedClientNames = [
  'client.id',
  'connections.max.idle.ms',
  'metadata.max.age.ms',
  'metadata.recovery.rebootstrap.trigger.ms',
  'metadata.recovery.strategy',
  'metric.reporters',
  'metrics.num.samples',
  'metrics.recording.level',
  'metrics.sample.window.ms',
  'receive.buffer.bytes',
  'reconnect.backoff.max.ms',
  'reconnect.backoff.ms',
  'request.timeout.ms',
  'retry.backoff.ms',
  'send.buffer.bytes',
  'enable.metrics.push',
] as const;
