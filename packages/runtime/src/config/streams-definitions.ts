import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  atLeast,
  atMostEntries,
  define,
  hostPortOrEmpty,
  hostPorts,
  minusOneOrAtLeastOne,
  notEmpty,
  oneOf,
  optimizations,
  topicNameOrNull,
  topicNamePart,
} from './definition.ts';

const jvm = 'A class of the JVM; accepted, without effect.';
const notYet = 'Accepted; without effect in this version.';
const transport = 'Belongs to the transport, which manages it itself; accepted, without effect.';
const none = { effect: false } as const;

/** Our names, Kafka Streams' short ones, and its classes. */
const storeSuppliers = [
  'persistent',
  'inMemory',
  'rocksDB',
  'org.apache.kafka.streams.state.BuiltInDslStoreSuppliers$RocksDBDslStoreSuppliers',
  'org.apache.kafka.streams.state.BuiltInDslStoreSuppliers$InMemoryDslStoreSuppliers',
] as const;

/** What `upgrade.from` takes in 4.4. */
const upgradableVersions = [
  ...['2.4', '2.5', '2.6', '2.7', '2.8'],
  ...['3.0', '3.1', '3.2', '3.3', '3.4', '3.5', '3.6', '3.7', '3.8', '3.9'],
  ...['4.0', '4.1', '4.2', '4.3'],
];

/** The configuration of Kafka Streams 4.4, and delete.interval.ms. */
export const streamsDefinitions = [
  define(
    'application.id',
    'string',
    '',
    'Name of the application: the group id, and the prefix of client ids and internal topics. Unique in the cluster.',
    { isRequired: true, importance: 'high', allowed: topicNamePart() },
  ),
  define('bootstrap.servers', 'list', [], 'Brokers to ask first, host:port.', {
    isRequired: true,
    importance: 'high',
    allowed: hostPorts(),
  }),
  define(
    'num.stream.threads',
    'int',
    1,
    'Stream threads of this instance; each is a member of the group with a loop of its own.',
    { importance: 'medium', allowed: atLeast(1) },
  ),
  define(
    'processing.guarantee',
    'string',
    'at_least_once',
    'What happens to a record when a process dies. This version processes at least once.',
    { importance: 'medium', allowed: oneOf('at_least_once') },
  ),
  define('commit.interval.ms', 'long', 30_000, 'Distance of two commits.', { allowed: atLeast(0) }),
  define(
    'delete.interval.ms',
    'long',
    30_000,
    'Least distance of two purges of repartition topics. A purge comes right after a commit, so the commit interval is its lower bound. repartition.purge.interval.ms is another name for it.',
    { allowed: atLeast(0) },
  ),
  define('repartition.purge.interval.ms', 'long', 30_000, 'Another name for delete.interval.ms.', {
    allowed: atLeast(0),
  }),
  define(
    'max.task.idle.ms',
    'long',
    0,
    'How long a task waits for an input partition that is caught up while others have records: 0 waits only for what is still to be fetched, -1 never waits.',
    { importance: 'medium', allowed: atLeast(-1) },
  ),
  define(
    'buffered.records.per.partition',
    'int',
    1_000,
    'Records that a partition buffers, beyond its share of bytes, before its fetching pauses.',
    { allowed: atLeast(1) },
  ),
  define(
    'task.timeout.ms',
    'long',
    300_000,
    'How long something that times out is retried before it is an error.',
    { importance: 'medium', allowed: atLeast(0) },
  ),
  define(
    'deserialization.exception.handler',
    'deserializationHandler',
    'fail',
    "What is done with a record that cannot be read: 'fail', 'continue', or a function that says which.",
    { importance: 'medium' },
  ),
  define(
    'default.deserialization.exception.handler',
    'deserializationHandler',
    'fail',
    'The older name of deserialization.exception.handler, which counts if both are given.',
    { importance: 'medium' },
  ),
  define(
    'processing.exception.handler',
    'processingHandler',
    'fail',
    "What is done with a record on which a node or a function of the application fails: 'fail', 'continue', or a function that says which.",
    { importance: 'medium' },
  ),
  define(
    'production.exception.handler',
    'productionHandler',
    'fail',
    "What is done with a record that cannot be written: 'fail', 'continue', or a function that says which.",
    { importance: 'medium' },
  ),
  define(
    'default.production.exception.handler',
    'productionHandler',
    'fail',
    'The older name of production.exception.handler, which counts if both are given.',
    { importance: 'medium' },
  ),
  define(
    'errors.dead.letter.queue.topic.name',
    'nullableString',
    null,
    "Topic to which the handlers 'fail' and 'continue' write the records that they give up; it must exist. Functions return what is to be written.",
    { importance: 'medium', allowed: topicNameOrNull() },
  ),
  define(
    'default.timestamp.extractor',
    'timestampExtractor',
    null,
    "Where a record's time comes from. The default takes the record's own, and fails on a negative one.",
    { importance: 'medium' },
  ),
  define('default.key.serde', 'serde', null, 'Serde of keys where none is given.', {
    importance: 'medium',
  }),
  define('default.value.serde', 'serde', null, 'Serde of values where none is given.', {
    importance: 'medium',
  }),
  define(
    'replication.factor',
    'int',
    -1,
    "Replicas of internal topics; -1 is the broker's default.",
    { importance: 'medium', allowed: minusOneOrAtLeastOne() },
  ),
  define(
    'topology.optimization',
    'string',
    'none',
    'Optimizations of the topology: none, all, or some of reuse.ktable.source.topics, merge.repartition.topics and single.store.self.join. As in Kafka Streams it counts where the topology is built: give it to build() of the StreamsBuilder.',
    { importance: 'medium', allowed: optimizations() },
  ),
  define(
    'windowstore.changelog.additional.retention.ms',
    'long',
    86_400_000,
    "Added to the retention of a window store's changelog, for clocks that differ.",
    { allowed: atLeast(0) },
  ),
  define('client.id', 'string', '', 'Prefix of client ids; empty: <application.id>-<process id>.', {
    importance: 'medium',
  }),
  define('state.dir', 'string', join(tmpdir(), 'kafka-streams'), 'Directory of the state stores.', {
    importance: 'high',
    allowed: notEmpty(),
  }),
  define(
    'application.server',
    'string',
    '',
    `host:port at which this instance can be asked for its state. ${notYet}`,
    { allowed: hostPortOrEmpty(), ...none },
  ),
  define(
    'statestore.cache.max.bytes',
    'long',
    10_485_760,
    'Bytes that the record caches of all stream threads may hold together; 0: there are none.',
    { importance: 'medium', allowed: atLeast(0) },
  ),
  define(
    'cache.max.bytes.buffering',
    'long',
    10_485_760,
    'Former name of statestore.cache.max.bytes, which counts if both are given.',
    { importance: 'medium', allowed: atLeast(0) },
  ),
  define(
    'statestore.uncommitted.max.bytes',
    'long',
    67_108_864,
    `Uncommitted bytes in stores that bring a commit forward. ${notYet}`,
    { allowed: atLeast(-1), ...none },
  ),
  define(
    'enable.transactional.statestores',
    'boolean',
    false,
    'Writes always stay apart until they are committed; accepted, without effect.',
    none,
  ),
  define(
    'default.interactive.query.isolation.level',
    'string',
    'READ_UNCOMMITTED',
    `What queries see. ${notYet}`,
    { allowed: oneOf('READ_UNCOMMITTED', 'READ_COMMITTED'), ...none },
  ),
  define('num.standby.replicas', 'int', 0, `Standby copies of each task. ${notYet}`, {
    importance: 'high',
    allowed: atLeast(0),
    ...none,
  }),
  define('max.warmup.replicas', 'int', 2, `Tasks that may warm up at a time. ${notYet}`, {
    importance: 'medium',
    allowed: atLeast(1),
    ...none,
  }),
  define(
    'acceptable.recovery.lag',
    'long',
    10_000,
    `Lag up to which a member counts as caught up. ${notYet}`,
    { importance: 'medium', allowed: atLeast(0), ...none },
  ),
  define(
    'probing.rebalance.interval.ms',
    'long',
    600_000,
    `Distance of rebalances that look for warmed-up tasks. ${notYet}`,
    { allowed: atLeast(60_000), ...none },
  ),
  define(
    'processing.exception.handler.global.enabled',
    'boolean',
    false,
    'Whether processing.exception.handler is asked for global stores, too.',
    { importance: 'high' },
  ),
  define(
    'dsl.store.format',
    'string',
    'DEFAULT',
    'HEADERS: the persistent stores of the DSL have room for headers (KIP-1271).',
    { allowed: oneOf('DEFAULT', 'HEADERS') },
  ),
  define(
    'ensure.explicit.internal.resource.naming',
    'boolean',
    false,
    'Refuse topologies with stores, changelogs or repartition topics that have a generated name.',
    { importance: 'high' },
  ),
  define(
    'log.summary.interval.ms',
    'long',
    120_000,
    'Each stream thread logs at info, this often, how much it has done since the line before; 0 or below: never.',
  ),
  define(
    'poll.ms',
    'long',
    100,
    'The loop waits for what arrives, not for a time; accepted, without effect.',
    { allowed: atLeast(0), ...none },
  ),
  define(
    'state.cleanup.delay.ms',
    'long',
    600_000,
    'How long the local state of a task that has gone to another instance stays.',
    { allowed: atLeast(0) },
  ),
  define(
    'state.cleanup.dir.max.age.ms',
    'long',
    -1,
    'Local state that was not used for this long is removed at the start; -1: none.',
    { allowed: atLeast(-1) },
  ),
  define('metrics.recording.level', 'string', 'INFO', `How much is measured. ${notYet}`, {
    allowed: oneOf('INFO', 'DEBUG', 'TRACE'),
    ...none,
  }),
  define('metrics.num.samples', 'int', 2, `Samples of a rate. ${notYet}`, {
    allowed: atLeast(1),
    ...none,
  }),
  define('metrics.sample.window.ms', 'long', 30_000, `Length of a sample. ${notYet}`, {
    allowed: atLeast(0),
    ...none,
  }),
  define('group.protocol', 'string', 'classic', 'How the group shares its tasks.', {
    importance: 'medium',
    allowed: oneOf('classic'),
  }),
  define('security.protocol', 'string', 'PLAINTEXT', 'How brokers are reached.', {
    importance: 'medium',
    allowed: oneOf('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL'),
  }),
  define(
    'sasl.mechanism',
    'string',
    'PLAIN',
    'How this client proves who it is, under SASL_PLAINTEXT and SASL_SSL.',
    {
      importance: 'medium',
      allowed: oneOf('PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'),
    },
  ),
  define(
    'sasl.username',
    'nullableString',
    null,
    'Name for SASL; Kafka has it in sasl.jaas.config.',
    {
      importance: 'medium',
    },
  ),
  define(
    'sasl.password',
    'nullableString',
    null,
    'Password for SASL; Kafka has it in sasl.jaas.config.',
    {
      importance: 'medium',
    },
  ),
  define('request.timeout.ms', 'int', 40_000, 'Longest wait for the answer to one request.', {
    allowed: atLeast(0),
  }),
  define('retry.backoff.ms', 'long', 100, transport, { allowed: atLeast(0), ...none }),
  define('reconnect.backoff.ms', 'long', 50, transport, { allowed: atLeast(0), ...none }),
  define('reconnect.backoff.max.ms', 'long', 1_000, transport, { allowed: atLeast(0), ...none }),
  define('connections.max.idle.ms', 'long', 540_000, transport, none),
  define(
    'metadata.max.age.ms',
    'long',
    300_000,
    'How often it is looked for new topics that match the pattern of a source.',
    { allowed: atLeast(0) },
  ),
  define('metadata.recovery.strategy', 'string', 'rebootstrap', transport, {
    allowed: oneOf('none', 'rebootstrap'),
    ...none,
  }),
  define('metadata.recovery.rebootstrap.trigger.ms', 'long', 300_000, transport, {
    allowed: atLeast(0),
    ...none,
  }),
  define('metadata.cluster.check.enable', 'boolean', true, transport, none),
  define('send.buffer.bytes', 'int', 131_072, transport, { allowed: atLeast(-1), ...none }),
  define('receive.buffer.bytes', 'int', 32_768, transport, { allowed: atLeast(-1), ...none }),
  define(
    'enable.metrics.push',
    'boolean',
    true,
    `Metrics are not pushed to brokers. ${notYet}`,
    none,
  ),
  define(
    'topology.description.push.enabled',
    'boolean',
    true,
    `The topology is not pushed to brokers. ${notYet}`,
    { importance: 'medium', ...none },
  ),
  define('rack.aware.assignment.strategy', 'string', 'none', notYet, {
    allowed: oneOf('none', 'min_traffic', 'balance_subtopology'),
    ...none,
  }),
  define('rack.aware.assignment.tags', 'list', [], notYet, { allowed: atMostEntries(5), ...none }),
  define('rack.aware.assignment.non_overlap_cost', 'nullableInt', null, notYet, none),
  define('rack.aware.assignment.traffic_cost', 'nullableInt', null, notYet, none),
  define(
    'upgrade.from',
    'nullableString',
    null,
    'Versions of Kafka Streams; accepted, without effect.',
    { allowed: oneOf(null, ...upgradableVersions), ...none },
  ),
  define('allow.os.group.write.access', 'boolean', false, notYet, none),
  define('built.in.metrics.version', 'string', 'latest', 'There is one version.', {
    allowed: oneOf('latest'),
    ...none,
  }),
  define('config.providers', 'list', [], jvm, none),
  define('default.client.supplier', 'nullableString', null, jvm, none),
  define(
    'default.dsl.store',
    'string',
    'rocksDB',
    'Former name of dsl.store.suppliers.class, which counts if both are given.',
    { allowed: oneOf('rocksDB', 'in_memory') },
  ),
  define('default.list.key.serde.inner', 'nullableString', null, jvm, {
    importance: 'medium',
    ...none,
  }),
  define('default.list.key.serde.type', 'nullableString', null, jvm, {
    importance: 'medium',
    ...none,
  }),
  define('default.list.value.serde.inner', 'nullableString', null, jvm, {
    importance: 'medium',
    ...none,
  }),
  define('default.list.value.serde.type', 'nullableString', null, jvm, {
    importance: 'medium',
    ...none,
  }),
  define(
    'dsl.store.suppliers.class',
    'string',
    'persistent',
    "Kind of the DSL's stores that are not told which: persistent (also rocksDB) or inMemory.",
    { allowed: oneOf(...storeSuppliers) },
  ),
  define('metric.reporters', 'list', [], jvm, none),
  define('processor.wrapper.class', 'nullableString', null, jvm, none),
  define('rocksdb.config.setter', 'nullableString', null, jvm, none),
  define('task.assignor.class', 'nullableString', null, jvm, { importance: 'medium', ...none }),
  define('window.size.ms', 'nullableLong', null, jvm, none),
  define('windowed.inner.class.serde', 'nullableString', null, jvm, none),
] as const;
