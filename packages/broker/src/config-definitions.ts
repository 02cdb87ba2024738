import { LONG_MAX } from '@millrace/compaction';

/** Kinds of a value; `list` is Kafka's comma-separated string. */
type ConfigKind = 'boolean' | 'int' | 'long' | 'double' | 'string' | 'list';

export interface BrokerConfigDefinition {
  readonly kind: ConfigKind;
  readonly default: boolean | number | string;
  /** Inclusive. */
  readonly min?: number;
  readonly max?: number;
  readonly oneOf?: readonly string[];
  /** May be changed while the broker runs (KIP-226). */
  readonly isDynamic?: boolean;
  readonly doc: string;
}

const INT_MAX = 2_147_483_647;

/**
 * The broker's own configuration under Kafka's names. Those that are defaults of topic configuration
 * (`log.retention.ms` ...) come from the log store's table and are not repeated here.
 */
export const brokerConfigDefinitions = {
  'node.id': { kind: 'int', default: 1, min: 0, max: INT_MAX, doc: 'The id of this node.' },
  'num.partitions': {
    kind: 'int',
    default: 1,
    min: 1,
    max: 10_000,
    doc: 'Partitions of a topic that is created without a count, by request or by itself.',
  },
  'default.replication.factor': {
    kind: 'int',
    default: 1,
    min: 1,
    max: 1,
    doc: 'There is one broker, so there is one replica.',
  },
  'auto.create.topics.enable': {
    kind: 'boolean',
    default: true,
    doc: 'Topics come into being when a client that allows it asks for their metadata.',
  },
  'delete.topic.enable': { kind: 'boolean', default: true, doc: 'Topics may be deleted.' },
  'socket.request.max.bytes': {
    kind: 'int',
    default: 104_857_600,
    min: 1024,
    max: INT_MAX,
    doc: 'The largest request; a connection that states a longer one is closed.',
  },
  'queued.max.request.bytes': {
    kind: 'long',
    default: 268_435_456,
    min: 1,
    doc: 'Requests that arrive, wait or are handled, over all connections; above it, what is not whole yet is read one after the other. Kafka has no bound by default.',
  },
  'max.connections': {
    kind: 'int',
    default: 10_000,
    min: 1,
    max: INT_MAX,
    doc: 'Client connections at one time; further ones are closed at once. Kafka has no bound by default.',
  },
  'connections.max.idle.ms': {
    kind: 'long',
    default: 600_000,
    min: 1,
    doc: 'A connection without a request for this long is closed.',
  },
  'fetch.max.bytes': {
    kind: 'int',
    default: 57_671_680,
    min: 1024,
    max: INT_MAX,
    doc: 'The most that one fetch answer holds, whatever the client asks for; a first batch goes out whole.',
  },
  'log.retention.check.interval.ms': {
    kind: 'long',
    default: 300_000,
    min: 1,
    doc: 'How often segments are checked against retention; the first time after log.initial.task.delay.ms.',
  },
  'log.initial.task.delay.ms': {
    kind: 'long',
    default: 30_000,
    min: 0,
    doc: 'Wait after start before the first background pass.',
  },
  'log.flush.scheduler.interval.ms': {
    kind: 'long',
    default: LONG_MAX,
    min: 1,
    doc: 'How often logs are looked at for flush.ms; the default leaves it out.',
  },
  'log.flush.offset.checkpoint.interval.ms': {
    kind: 'int',
    default: 60_000,
    min: 1,
    max: INT_MAX,
    doc: 'How often recovery points are written.',
  },
  'log.flush.start.offset.checkpoint.interval.ms': {
    kind: 'int',
    default: 60_000,
    min: 1,
    max: INT_MAX,
    doc: 'How often log start offsets are written; delete-records writes its own at once.',
  },
  'log.cleaner.enable': {
    kind: 'boolean',
    default: true,
    doc: 'Compacted topics are cleaned. Without it their logs grow, and old segments of them go by retention only.',
  },
  'log.cleaner.threads': {
    kind: 'int',
    default: 1,
    min: 1,
    max: INT_MAX,
    isDynamic: true,
    doc: 'Threads that clean. While the broker runs it may be halved or doubled at a time.',
  },
  'log.cleaner.dedupe.buffer.size': {
    kind: 'long',
    default: 134_217_728,
    min: 1,
    isDynamic: true,
    doc: 'Memory for keys, of all cleaner threads together, bytes; more than 1 MiB for each. 24 bytes a key.',
  },
  'log.cleaner.io.buffer.size': {
    kind: 'int',
    default: 524_288,
    min: 0,
    max: INT_MAX,
    isDynamic: true,
    doc: 'Memory for reading and writing, of all cleaner threads together, bytes.',
  },
  'log.cleaner.io.buffer.load.factor': {
    kind: 'double',
    default: 0.9,
    min: 0.01,
    max: 1,
    isDynamic: true,
    doc: 'How full the memory for keys may get: fuller means more keys per pass, and more collisions.',
  },
  'log.cleaner.io.max.bytes.per.second': {
    kind: 'double',
    default: Number.MAX_VALUE,
    min: 1,
    isDynamic: true,
    doc: 'What cleaner threads read and write together, on average, bytes per second at most.',
  },
  'log.cleaner.backoff.ms': {
    kind: 'long',
    default: 15_000,
    min: 0,
    isDynamic: true,
    doc: 'Wait of a cleaner thread that has found nothing to clean.',
  },
  'producer.id.expiration.ms': {
    kind: 'int',
    default: 86_400_000,
    min: 1,
    max: INT_MAX,
    doc: 'Sequence state of a producer that is silent for this long is dropped.',
  },
  'producer.id.expiration.check.interval.ms': {
    kind: 'int',
    default: 600_000,
    min: 1,
    max: INT_MAX,
    doc: 'How often silent producers are looked for.',
  },
  'offsets.topic.num.partitions': {
    kind: 'int',
    default: 50,
    min: 1,
    max: 10_000,
    doc: 'Partitions of __consumer_offsets; must not change once it exists.',
  },
  'offsets.topic.replication.factor': {
    kind: 'int',
    default: 1,
    min: 1,
    max: 1,
    doc: 'There is one broker, so there is one replica.',
  },
  'offsets.topic.segment.bytes': {
    kind: 'int',
    default: 104_857_600,
    min: 1024,
    max: INT_MAX,
    doc: 'segment.bytes of __consumer_offsets.',
  },
  'offsets.retention.minutes': {
    kind: 'int',
    default: 10_080,
    min: 1,
    max: INT_MAX,
    doc: 'Committed offsets of an empty group are kept this long.',
  },
  'offsets.retention.check.interval.ms': {
    kind: 'long',
    default: 600_000,
    min: 1,
    doc: 'How often expired group offsets are looked for.',
  },
  'offset.metadata.max.bytes': {
    kind: 'int',
    default: 4096,
    min: 0,
    max: INT_MAX,
    doc: 'The longest metadata of a committed offset.',
  },
  'offsets.load.buffer.size': {
    kind: 'int',
    default: 5_242_880,
    min: 1,
    max: INT_MAX,
    doc: 'Bytes read at a time while groups are rebuilt from __consumer_offsets.',
  },
  'group.initial.rebalance.delay.ms': {
    kind: 'int',
    default: 0,
    min: 0,
    max: INT_MAX,
    doc: 'Wait for further members before the first rebalance of an empty group. Kafka waits 3000.',
  },
  'group.min.session.timeout.ms': {
    kind: 'int',
    default: 6_000,
    min: 1,
    max: INT_MAX,
    doc: 'The shortest session timeout of a member.',
  },
  'group.max.session.timeout.ms': {
    kind: 'int',
    default: 1_800_000,
    min: 1,
    max: INT_MAX,
    doc: 'The longest session timeout of a member.',
  },
  'group.max.size': {
    kind: 'int',
    default: INT_MAX,
    min: 1,
    max: INT_MAX,
    doc: 'Members of one group.',
  },
  'transaction.state.log.num.partitions': {
    kind: 'int',
    default: 50,
    min: 1,
    max: 10_000,
    doc: 'Partitions of __transaction_state.',
  },
  'transaction.state.log.replication.factor': {
    kind: 'int',
    default: 1,
    min: 1,
    max: 1,
    doc: 'There is one broker, so there is one replica.',
  },
  'transaction.state.log.min.isr': {
    kind: 'int',
    default: 1,
    min: 1,
    max: 1,
    doc: 'There is one broker, so there is one replica.',
  },
  'transaction.state.log.segment.bytes': {
    kind: 'int',
    default: 104_857_600,
    min: 1024,
    max: INT_MAX,
    doc: 'segment.bytes of __transaction_state.',
  },
  'transaction.state.log.load.buffer.size': {
    kind: 'int',
    default: 5_242_880,
    min: 1,
    max: INT_MAX,
    doc: 'Bytes read at a time when __transaction_state is loaded.',
  },
  'transactional.id.expiration.ms': {
    kind: 'int',
    default: 604_800_000,
    min: 1,
    max: INT_MAX,
    doc: 'A transactional id that is not used for this long, and has no open transaction, is forgotten.',
  },
  'transaction.abort.timed.out.transaction.cleanup.interval.ms': {
    kind: 'int',
    default: 10_000,
    min: 1,
    max: INT_MAX,
    doc: 'How often open transactions that have timed out are looked for.',
  },
  'transaction.remove.expired.transaction.cleanup.interval.ms': {
    kind: 'int',
    default: 3_600_000,
    min: 1,
    max: INT_MAX,
    doc: 'How often transactional ids that are no longer used are looked for.',
  },
  'transaction.max.timeout.ms': {
    kind: 'int',
    default: 900_000,
    min: 1,
    max: INT_MAX,
    doc: 'The longest transaction timeout that a producer may ask for.',
  },
} as const satisfies Record<string, BrokerConfigDefinition>;

export type BrokerConfigName = keyof typeof brokerConfigDefinitions;
