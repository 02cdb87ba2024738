import type { MetricDefinition, RecordingLevel } from './definition.ts';

/** The names of a group, all with its tags. `level` is that of what follows. */
class Definer {
  readonly all: MetricDefinition[] = [];
  readonly #group: string;
  readonly #tags: readonly string[];
  #level: RecordingLevel = 'INFO';
  #isKafkas = true;

  constructor(group: string, tags: readonly string[]) {
    this.#group = group;
    this.#tags = tags;
  }

  at(level: RecordingLevel): this {
    this.#level = level;
    return this;
  }

  /** Kafka Streams has nothing like what follows. */
  get ours(): this {
    this.#isKafkas = false;
    return this;
  }

  define(
    name: string,
    type: MetricDefinition['type'],
    unit: string,
    description: string,
    tags = this.#tags,
  ): this {
    const { all } = this;
    const [group, level, isKafkas] = [this.#group, this.#level, this.#isKafkas];
    all.push({ group, name, type, unit, level, tags, description, isKafkas });
    return this;
  }

  text(name: string, description: string): this {
    return this.define(name, 'text', '', description);
  }

  gauge(name: string, unit: string, description: string, tags = this.#tags): this {
    return this.define(name, 'gauge', unit, description, tags);
  }

  total(name: string, unit: string, description: string): this {
    return this.define(`${name}-total`, 'counter', unit, description);
  }

  /** `what` continues "... per second" and stands alone for the total. */
  rate(name: string, unit: string, what: string): this {
    return this.gauge(`${name}-rate`, `${unit}/s`, `${what}, per second.`);
  }

  rateAndTotal(name: string, unit: string, what: string): this {
    return this.rate(name, unit, what).total(name, unit, `${what}.`);
  }

  averageAndMax(name: string, unit: string, what: string): this {
    return this.gauge(`${name}-avg`, unit, `${what}, on average.`).gauge(
      `${name}-max`,
      unit,
      `${what}, at most.`,
    );
  }

  averageMinAndMax(name: string, unit: string, what: string): this {
    return this.averageAndMax(name, unit, what).gauge(`${name}-min`, unit, `${what}, at least.`);
  }

  ratio(name: string, description: string): this {
    return this.gauge(`${name}-ratio`, 'ratio', description);
  }
}

const clientTags = ['client-id'];
const threadTags = ['thread-id'];
const taskTags = ['thread-id', 'task-id'];
const nodeTags = [...taskTags, 'processor-node-id'];

/** `<scope>-id` is the tag with the store's name; what is on disk here is RocksDB's in Kafka Streams. */
export const storeScopes = [
  'in-memory-state',
  'in-memory-lru-state',
  'in-memory-window-state',
  'in-memory-session-state',
  'in-memory-suppression-state',
  'lmdb-state',
  'lmdb-window-state',
  'lmdb-session-state',
  'persistent-state',
] as const;

export const STORE_TAG = '<store-scope>-id';
const storeTags = [...taskTags, STORE_TAG];

const client = new Definer('stream-metrics', clientTags)
  .text('version', 'The version of Millrace.')
  .text('application-id', '`application.id`.')
  .text('topology-description', 'What `describe()` prints.')
  .text('state', 'The state of the client.')
  .gauge(
    'client-state',
    '',
    'The state as a number: CREATED 0, REBALANCING 1, RUNNING 2, PENDING_SHUTDOWN 3, NOT_RUNNING 4, PENDING_ERROR 5, ERROR 6.',
    ['application-id', 'client-id', 'process-id'],
  )
  .gauge('alive-stream-threads', 'threads', 'Stream threads that run or take part in a rebalance.')
  .gauge('failed-stream-threads', 'threads', 'Threads that failed since the start.')
  .gauge(
    'recording-level',
    '',
    '`metrics.recording.level` as a number: INFO 0, DEBUG 1, TRACE 2.',
    ['client-id', 'process-id'],
  )
  .ours.averageAndMax(
    'event-loop-lag',
    'ms',
    'How late timers of this process are because something held up the event loop',
  )
  .gauge(
    'event-loop-utilization',
    'ratio',
    'The part of the time in which the event loop was not idle.',
  );

const thread = new Definer('stream-thread-metrics', threadTags)
  .text('state', 'The state of the thread.')
  .gauge(
    'thread-state',
    '',
    'The state as a number: CREATED 0, STARTING 1, PARTITIONS_REVOKED 2, PARTITIONS_ASSIGNED 3, RUNNING 4, PENDING_SHUTDOWN 5, DEAD 6.',
    ['thread-id', 'process-id'],
  )
  .gauge('thread-start-time', 'ms', 'When the thread was started, epoch ms.')
  .rateAndTotal('poll', 'calls', 'Times that the thread took what was fetched')
  .averageAndMax(
    'poll-latency',
    'ms',
    'Time from the end of one pass until what was fetched is taken: waiting for records, and whatever else the event loop does',
  )
  .ratio('poll', 'The part of the time that went there.')
  .averageAndMax('poll-records', 'records', 'Records taken, of the times that there were some')
  .rateAndTotal('process', 'records', 'Records processed')
  .averageAndMax('process-latency', 'ms', 'Time per record, taken over the records of one pass')
  .ratio('process', 'The part of the time that was spent in processing.')
  .averageAndMax('process-records', 'records', 'Records processed in one pass')
  .rateAndTotal('punctuate', 'calls', 'Calls of punctuators')
  .averageAndMax('punctuate-latency', 'ms', 'Time of the wall-clock punctuators of one pass')
  .ratio('punctuate', 'The part of the time that was spent in wall-clock punctuators.')
  .rateAndTotal('commit', 'commits', 'Commits that succeeded')
  .averageAndMax('commit-latency', 'ms', 'Time of a commit')
  .ratio(
    'commit',
    'The part of the time that was spent in commits, during which the thread processes nothing.',
  )
  .define(
    'blocked-time-ns-total',
    'counter',
    'ns',
    'Time in which processing stood still for brokers: commits, and waits for room in the producer.',
  )
  .rateAndTotal('task-created', 'tasks', 'Tasks created')
  .rateAndTotal('task-closed', 'tasks', 'Tasks closed')
  .ours.rateAndTotal(
    'dropped-records',
    'records',
    'Records dropped, of all tasks that the thread has or had',
  )
  .rateAndTotal(
    'purge',
    'requests',
    'DeleteRecords requests sent for repartition topics (`delete.interval.ms`)',
  )
  .total(
    'purge-failed',
    'partitions',
    'Partitions whose deletion failed; the next purge tries again.',
  )
  .gauge(
    'purge-lag-records',
    'records',
    'Offsets of repartition topics that are committed and not deleted yet, as far as this thread knows.',
  )
  .gauge('purge-lag-ms', 'ms', 'How long the oldest of them have been committed.')
  .total('restore', 'records', 'Records restored into global stores; of the global thread only.')
  .define(
    'restore-remaining-records-total',
    'gauge',
    'records',
    'Offsets that the global thread has still to restore.',
  );

const restoration = new Definer('stream-state-updater-metrics', threadTags)
  .gauge('active-restoring-tasks', 'tasks', 'Tasks being restored.')
  .gauge('restore-records-rate', 'records/s', 'Records restored, per second.')
  .gauge('restore-call-rate', 'calls/s', 'Passes in which something was restored, per second.')
  .ratio('active-restore', 'The part of the time that was spent in restoring.')
  .ours.total('restore', 'records', 'Records restored.')
  .define('restore-remaining-records-total', 'gauge', 'records', 'Offsets still to restore.');

const task = new Definer('stream-task-metrics', taskTags)
  .rateAndTotal('dropped-records', 'records', 'Records dropped')
  .ratio('active-process', "The part of the thread's processing that went to this task.")
  .define('restore-remaining-records-total', 'gauge', 'records', 'Offsets still to restore.')
  .at('DEBUG')
  .rateAndTotal('process', 'records', 'Records processed')
  .averageAndMax(
    'process-latency',
    'ns',
    'Time per record, taken over the records of one turn of the task',
  )
  .rateAndTotal('punctuate', 'calls', 'Calls of punctuators')
  .averageAndMax(
    'punctuate-latency',
    'ns',
    'Time of a call of a punctuator, without what it waits for',
  )
  .averageAndMax('record-lateness', 'ms', 'Stream time less the timestamp of a record')
  .rateAndTotal(
    'enforced-processing',
    'records',
    'Records processed although an empty partition might have brought an earlier one',
  )
  .gauge('active-buffer-count', 'records', 'Records that were fetched and not processed yet.')
  .define(
    'cache-size-bytes-total',
    'gauge',
    'bytes',
    "Bytes in the record caches of the task's stores.",
  )
  .rateAndTotal('restore', 'records', 'Records restored into its stores since it was opened');

const node = new Definer('stream-processor-node-metrics', nodeTags)
  .averageMinAndMax(
    'record-e2e-latency',
    'ms',
    'Wall-clock time less the timestamp of a record, when a source takes it or a node without children is done with it',
  )
  .at('DEBUG')
  .rateAndTotal('process', 'records', 'Records that a source took')
  .rateAndTotal('suppression-emit', 'records', 'Records that `suppress` let go');

const topic = new Definer('stream-topic-metrics', [...nodeTags, 'topic'])
  .total('records-consumed', 'records', 'Records that a source took from the topic.')
  .total(
    'bytes-consumed',
    'bytes',
    "Their bytes as Kafka Streams counts them: key, value, headers as they are encoded, the topic's name, and 20 for timestamp, offset and partition.",
  )
  .total('records-produced', 'records', 'Records that a sink wrote to the topic.')
  .total(
    'bytes-produced',
    'bytes',
    'Their bytes as they are encoded in batches, before compression.',
  );

const store = new Definer('stream-state-metrics', storeTags)
  .gauge(
    'num-open-iterators',
    'iterators',
    'Iterators on the store that were begun and are not at their end.',
  )
  .gauge('num-keys', 'keys', 'Keys in the store; of stores in memory.')
  .gauge(
    'uncommitted-bytes',
    'bytes',
    'Bytes written and not committed yet, about; of stores on disk.',
  )
  .at('DEBUG')
  .averageAndMax(
    'suppression-buffer-count',
    'records',
    'Records in the buffer of `suppress`, or of a join with grace, over all changes of it',
  )
  .averageAndMax('suppression-buffer-size', 'bytes', 'Bytes in the buffer, over all changes of it');

for (const [operation, what] of Object.entries({
  put: 'Calls of `put`',
  'put-if-absent': 'Calls of `putIfAbsent`',
  'put-all': 'Calls of `putAll`',
  get: 'Calls of `get` and its like',
  delete: 'Calls of `delete`',
  range: 'Iterations over a range of keys, or over versions',
  all: 'Iterations over all rows',
  'prefix-scan': 'Iterations over keys with a prefix',
  fetch: 'Reads of windows or sessions',
  remove: 'Calls of `remove`',
  flush: 'Times that a record cache, or a buffer, let go everything',
  commit: 'Commits',
})) {
  store
    .rate(operation, 'calls', what)
    .averageAndMax(
      `${operation}-latency`,
      'ns',
      'Time of such a call; of an iterator up to its end',
    );
}
store.averageAndMax(
  'iterator-duration',
  'ns',
  'Time from the call that makes an iterator to its end',
);

const cache = new Definer('stream-record-cache-metrics', [...taskTags, 'record-cache-id'])
  .at('DEBUG')
  .gauge(
    'hit-ratio-avg',
    'ratio',
    'Reads that the record cache could answer, of all since the task was opened.',
  )
  .gauge('hit-ratio-min', 'ratio', 'The same between two commits, least.')
  .gauge('hit-ratio-max', 'ratio', 'The same between two commits, greatest.');

/** Everything that is measured. docs/metrics.md is made from it. */
export const metricDefinitions: readonly MetricDefinition[] = [
  client,
  thread,
  restoration,
  task,
  node,
  topic,
  store,
  cache,
].flatMap(({ all }) => all);

const byName = new Map(metricDefinitions.map((one) => [`${one.group}/${one.name}`, one]));

export function findDefinition(group: string, name: string): MetricDefinition | undefined {
  return byName.get(`${group}/${name}`);
}
