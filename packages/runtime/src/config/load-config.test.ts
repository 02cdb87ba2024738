import { describe, expect, it } from 'vitest';
import { ConfigError } from '../errors.ts';
import { loadConfig } from './load-config.ts';

const base = { 'application.id': 'app', 'bootstrap.servers': 'localhost:9092' } as const;

function problemsOf(config: object, more: object = {}): string {
  try {
    loadConfig({ config, ...more });
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as Error).message;
  }
  throw new Error('expected a ConfigError');
}

describe('loadConfig', () => {
  it("gives Kafka Streams' defaults", () => {
    const config = loadConfig({ config: base });
    expect(config.get('commit.interval.ms')).toBe(30_000);
    expect(config.get('delete.interval.ms')).toBe(30_000);
    expect(config.get('buffered.records.per.partition')).toBe(1_000);
    expect(config.get('bootstrap.servers')).toEqual(['localhost:9092']);
    expect(config.producer['linger.ms']).toBe(100);
    expect(config.mainConsumer['auto.offset.reset']).toBe('earliest');
  });

  it('takes durations and numbers as text', () => {
    const config = loadConfig({
      config: {
        ...base,
        'commit.interval.ms': '5m',
        'num.stream.threads': '2',
        'max.task.idle.ms': -1,
      },
    });
    expect(config.get('commit.interval.ms')).toBe(300_000);
    expect(config.get('num.stream.threads')).toBe(2);
    expect(config.get('max.task.idle.ms')).toBe(-1);
  });

  it('lets the environment count for more than code, and code for more than the file', () => {
    const config = loadConfig({
      config: { ...base, 'commit.interval.ms': 2_000, 'num.stream.threads': 2 },
      file: JSON.stringify({
        'commit.interval.ms': 1_000,
        'task.timeout.ms': '1m',
        'client.id': 'c',
      }),
      environment: { MILLRACE_NUM_STREAM_THREADS: '3', MILLRACE_CLIENT_ID: 'd' },
    });
    expect(config.get('commit.interval.ms')).toBe(2_000);
    expect(config.get('task.timeout.ms')).toBe(60_000);
    expect(config.get('num.stream.threads')).toBe(3);
    expect(config.get('client.id')).toBe('d');
  });

  it('lets the more exact prefix count for more', () => {
    const config = loadConfig({
      config: {
        ...base,
        'fetch.max.bytes': 1,
        'consumer.fetch.max.bytes': 2,
        'main.consumer.fetch.max.bytes': 3,
        'producer.linger.ms': 5,
        'topic.segment.bytes': 16_384,
      },
    });
    expect(config.mainConsumer['fetch.max.bytes']).toBe(3);
    expect(config.restoreConsumer['fetch.max.bytes']).toBe(2);
    expect(config.producer['linger.ms']).toBe(5);
    expect([...config.topicDefaults]).toEqual([['segment.bytes', '16384']]);
  });

  it('keeps handlers and serdes as they are', () => {
    const handler = (): 'continue' => 'continue';
    const config = loadConfig({
      config: { ...base, 'deserialization.exception.handler': handler },
    });
    expect(config.get('deserialization.exception.handler')).toBe(handler);
  });

  it('179: lists everything that is wrong in one error, with ranges and the nearest name (lovoo/goka#255)', () => {
    const message = problemsOf(
      {
        'bootstrap.servers': 'localhost:9092',
        'comit.interval.ms': 5,
        'num.stream.threads': 0,
        'buffered.records.per.partition': -5,
        'commit.interval.ms': 'soon',
        'processing.guarantee': 'exactly_twice',
        'heartbeat.interval.ms': 50_000,
      },
      { file: '{"max.task.idle.ms": -2, "nonsense.xyz.qqq": 1}' },
    );
    expect(message).toMatch(/^9 things are wrong/);
    expect(message).toContain('application.id is required');
    expect(message).toContain('comit.interval.ms is not known; did you mean commit.interval.ms?');
    expect(message).toContain('num.stream.threads must be ≥ 1, not 0');
    expect(message).toContain('buffered.records.per.partition must be ≥ 1, not -5');
    expect(message).toContain(
      "commit.interval.ms must be milliseconds, or a duration such as '30s' (≥ 0), not 'soon'",
    );
    expect(message).toContain(
      "processing.guarantee must be one of at_least_once, exactly_once_v2, not 'exactly_twice'",
    );
    expect(message).toContain('max.task.idle.ms must be ≥ -1, not -2');
    expect(message).toContain(
      'heartbeat.interval.ms must be below session.timeout.ms (45000), not 50000',
    );
  });

  it('97: wants an application.id, which transactional ids are made of (KAFKA-5171)', () => {
    expect(problemsOf({ ...base, 'application.id': '' })).toContain('application.id is required');
  });

  it('179: takes no interval or size below its range, and says so for all at once (lovoo/goka#255, n8n#35616)', () => {
    const negative = [
      'buffered.records.per.partition',
      'commit.interval.ms',
      'delete.interval.ms',
      'heartbeat.interval.ms',
      'max.poll.interval.ms',
      'metadata.max.age.ms',
      'producer.batch.size',
      'producer.linger.ms',
      'session.timeout.ms',
      'state.cleanup.delay.ms',
      'statestore.cache.max.bytes',
      'task.timeout.ms',
    ];
    const config = Object.fromEntries(negative.map((key) => [key, -1]));
    const message = problemsOf({ ...base, ...config });
    expect(message).toMatch(/^12 things are wrong/);
    for (const key of negative) {
      expect(message).toMatch(new RegExp(`${key.replace('producer.', '')} must be ≥ [01], not -1`));
    }
  });

  it('names a file that is no JSON', () => {
    expect(problemsOf(base, { file: '{' })).toContain('configuration file is no JSON');
    expect(problemsOf(base, { file: '[]' })).toContain('must be one JSON object');
  });

  it.each([
    ['bad id', { 'application.id': 'a b' }],
    ['wrong type', { 'client.id': 5 }],
    ['too large', { 'num.stream.threads': 3_000_000_000 }],
    ['fraction', { 'commit.interval.ms': 1.5 }],
    ['not a list', { 'rack.aware.assignment.tags': [1] }],
    ['fixed', { 'consumer.enable.auto.commit': true }],
    ['handler', { 'deserialization.exception.handler': 'ignore' }],
    ['NaN', { 'commit.interval.ms': Number.NaN }],
  ])('refuses a wrong value: %s', (_, wrong) => {
    expect(problemsOf({ ...base, ...wrong })).toContain('One thing is wrong');
  });

  it('takes repartition.purge.interval.ms as another name for delete.interval.ms', () => {
    const alias = loadConfig({ config: { ...base, 'repartition.purge.interval.ms': 7 } });
    expect(alias.get('delete.interval.ms')).toBe(7);
    const both = loadConfig({
      config: { ...base, 'repartition.purge.interval.ms': 7, 'delete.interval.ms': 7 },
    });
    expect(both.get('delete.interval.ms')).toBe(7);
    const message = problemsOf({
      ...base,
      'repartition.purge.interval.ms': 7,
      'delete.interval.ms': 8,
    });
    expect(message).toContain('delete.interval.ms is 8, but repartition.purge.interval.ms is 7');
  });

  it("takes handlers as words, as functions, and by the names of Kafka Streams' classes", () => {
    const handler = (): 'continue' => 'continue';
    const config = loadConfig({
      config: { ...base, 'processing.exception.handler': handler },
      file: JSON.stringify({
        'deserialization.exception.handler':
          'org.apache.kafka.streams.errors.LogAndContinueExceptionHandler',
      }),
      environment: { MILLRACE_PRODUCTION_EXCEPTION_HANDLER: 'continue' },
    });
    expect(config.get('processing.exception.handler')).toBe(handler);
    expect(config.get('deserialization.exception.handler')).toBe('continue');
    expect(config.get('production.exception.handler')).toBe('continue');
    expect(loadConfig({ config: base }).get('processing.exception.handler')).toBe('fail');
  });

  it.each(['deserialization', 'production'] as const)(
    'takes the older name of the %s handler, too; the newer one counts',
    (what) => {
      const older = { ...base, [`default.${what}.exception.handler`]: 'continue' };
      expect(loadConfig({ config: older }).get(`${what}.exception.handler`)).toBe('continue');
      const both = { ...older, [`${what}.exception.handler`]: 'fail' };
      expect(loadConfig({ config: both }).get(`${what}.exception.handler`)).toBe('fail');
    },
  );

  it('takes only topic names for errors.dead.letter.queue.topic.name', () => {
    const key = 'errors.dead.letter.queue.topic.name';
    expect(loadConfig({ config: base }).get(key)).toBeNull();
    expect(loadConfig({ config: { ...base, [key]: 'dlq' } }).get(key)).toBe('dlq');
    expect(problemsOf({ ...base, [key]: 'no topic' })).toContain('1 to 249 ASCII letters');
    expect(problemsOf({ ...base, [key]: '..' })).toContain(key);
  });

  it('names the keys that are set although they have no effect, wherever they were', () => {
    const config = loadConfig({
      config: {
        ...base,
        'poll.ms': 5,
        'commit.interval.ms': 5,
        'max.poll.records': 10,
        'main.consumer.max.poll.records': 20,
        'producer.request.timeout.ms': 5_000,
        'admin.request.timeout.ms': 5_000,
        'client.tag.zone': 'a',
      },
      file: '{"num.standby.replicas": 1}',
      environment: { MILLRACE_UPGRADE_FROM: '4.3' },
    });
    expect([...config.withoutEffect].sort()).toEqual([
      'admin.request.timeout.ms',
      'client.tag.zone',
      'main.consumer.max.poll.records',
      'max.poll.records',
      'num.standby.replicas',
      'poll.ms',
      'producer.request.timeout.ms',
      'upgrade.from',
    ]);
  });

  it('takes the whole configuration of the clients of a Java application', () => {
    const config = loadConfig({
      config: {
        ...base,
        'retry.backoff.max.ms': 5,
        'consumer.client.rack': 'r1',
        'producer.retries': 3,
        'main.consumer.max.poll.interval.ms': '10m',
      },
    });
    expect(config.mainConsumer['max.poll.interval.ms']).toBe(600_000);
    expect(config.producer['retries']).toBe(3);
  });

  it('points at a Kafka instance for keys of TLS and SASL that it does not know', () => {
    const message = problemsOf({
      ...base,
      'ssl.truststore.location': 'x',
      'sasl.mechanisn': 'PLAIN',
    });
    expect(message).toContain('ssl.truststore.location is not known; certificates');
    expect(message).toContain('sasl.mechanisn is not known; did you mean sasl.mechanism?');
  });

  it.each([
    ['brokers without a port', { 'bootstrap.servers': 'a:1,b' }, 'host:port, one or more'],
    ['an older version', { 'upgrade.from': '2.3' }, 'one of null, 2.4'],
    ['an optimization', { 'topology.optimization': 'some' }, 'none, all, or a list'],
    ['no replicas', { 'replication.factor': 0 }, '-1 or ≥ 1'],
    ['a strategy', { 'metadata.recovery.strategy': 'wait' }, 'one of none, rebootstrap'],
    ['an empty instance', { 'group.instance.id': '' }, 'not empty'],
    ['too little time', { 'producer.delivery.timeout.ms': 40_000 }, '≥ 40100, linger.ms and'],
    ['small segments', { 'topic.segment.bytes': '1000' }, '≥ batch.size (16384), not 1000'],
    ['long tags', { 'client.tag.a': 'x'.repeat(31) }, 'at most 30 characters, not 31'],
    ['long names of tags', { [`client.tag.${'x'.repeat(21)}`]: 'a' }, '1 to 20 characters'],
    ['tags not given', { 'rack.aware.assignment.tags': 'zone' }, 'client.tag.zone is not given'],
  ])('says what is allowed: %s', (_, wrong, text) => {
    expect(problemsOf({ ...base, ...wrong })).toContain(text);
  });

  it('refuses more tags than Kafka Streams', () => {
    const tags = Object.fromEntries(
      ['a', 'b', 'c', 'd', 'e', 'f'].map((t) => [`client.tag.${t}`, t]),
    );
    expect(problemsOf({ ...base, ...tags })).toContain('at most 5 tags, not 6');
  });

  it('takes addresses by name, by number and of IPv6', () => {
    const servers = 'kafka-1.example:9092, 10.0.0.1:9092,[::1]:9092';
    const config = loadConfig({ config: { ...base, 'bootstrap.servers': servers } });
    expect(config.get('bootstrap.servers')).toHaveLength(3);
  });

  it('needs no bootstrap.servers where the brokers are known otherwise', () => {
    const config = loadConfig({
      config: { 'application.id': 'app' },
      notRequired: ['bootstrap.servers'],
    });
    expect(config.get('bootstrap.servers')).toEqual([]);
  });
});
