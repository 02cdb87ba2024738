import {
  CLIENT_TAG_KEY_MAX_CHARS,
  CLIENT_TAG_VALUE_MAX_CHARS,
  CLIENT_TAGS_MAX_COUNT,
} from '../limits.ts';
import type { ConsumerValues, ProducerValues } from './config-input.ts';
import type { Problem } from './convict-layer.ts';
import type { GivenKeys } from './given-keys.ts';

export interface ResolvedValues {
  readonly streams: Readonly<Record<string, unknown>>;
  readonly mainConsumer: ConsumerValues;
  readonly producer: ProducerValues;
}

/** What must hold between keys that are each right on their own. */
export function checkTogether(
  { streams, mainConsumer, producer }: ResolvedValues,
  given: GivenKeys,
  problems: Problem[],
): void {
  checkSession(mainConsumer, problems);
  checkSasl(streams, problems);
  checkDelivery(streams, producer, given, problems);
  checkSegments(producer, given, problems);
  checkTransactions(streams, producer, problems);
  checkTags(streams, given, problems);
}

/** A broker would abort every transaction before it is committed. */
function checkTransactions(
  streams: Readonly<Record<string, unknown>>,
  producer: ProducerValues,
  problems: Problem[],
): void {
  if (streams['processing.guarantee'] !== 'exactly_once_v2') return;
  const commit = streams['commit.interval.ms'] as number;
  const timeout = producer['transaction.timeout.ms'];
  if (timeout >= commit) return;
  problems.push({
    name: 'transaction.timeout.ms',
    text: `must be ≥ commit.interval.ms (${String(commit)}) under exactly_once_v2, not ${String(timeout)}`,
  });
}

function checkSession(consumer: ConsumerValues, problems: Problem[]): void {
  const heartbeat = consumer['heartbeat.interval.ms'];
  const session = consumer['session.timeout.ms'];
  if (heartbeat >= session) {
    problems.push({
      name: 'heartbeat.interval.ms',
      text: `must be below session.timeout.ms (${String(session)}), not ${String(heartbeat)}`,
    });
  }
}

function checkSasl(streams: Readonly<Record<string, unknown>>, problems: Problem[]): void {
  const protocol = streams['security.protocol'];
  if (protocol !== 'SASL_PLAINTEXT' && protocol !== 'SASL_SSL') return;
  for (const name of ['sasl.username', 'sasl.password']) {
    if (streams[name] === null) problems.push({ name, text: `is required under ${protocol}` });
  }
}

/** As Kafka's producer: only who sets it is told; the default leaves room for usual timeouts. */
function checkDelivery(
  streams: Readonly<Record<string, unknown>>,
  producer: ProducerValues,
  given: GivenKeys,
  problems: Problem[],
): void {
  if (!given.hasProducer('delivery.timeout.ms')) return;
  const least = producer['linger.ms'] + (streams['request.timeout.ms'] as number);
  const delivery = producer['delivery.timeout.ms'];
  if (delivery >= least) return;
  problems.push({
    name: 'delivery.timeout.ms',
    text: `must be ≥ ${String(least)}, linger.ms and request.timeout.ms together, not ${String(delivery)}`,
  });
}

/** A broker refuses a batch that is larger than a segment. */
function checkSegments(producer: ProducerValues, given: GivenKeys, problems: Problem[]): void {
  const segment = Number(given.below('topic.').get('segment.bytes'));
  const batch = producer['batch.size'];
  if (segment < batch) {
    problems.push({
      name: 'topic.segment.bytes',
      text: `must be ≥ batch.size (${String(batch)}), not ${String(segment)}`,
    });
  }
}

function checkTags(
  streams: Readonly<Record<string, unknown>>,
  given: GivenKeys,
  problems: Problem[],
): void {
  const tags = given.below('client.tag.');
  if (tags.size > CLIENT_TAGS_MAX_COUNT) {
    problems.push({
      name: 'client.tag.*',
      text: `must be at most ${String(CLIENT_TAGS_MAX_COUNT)} tags, not ${String(tags.size)}`,
    });
  }
  for (const [key, value] of tags) {
    const name = `client.tag.${key}`;
    if (key.length === 0 || key.length > CLIENT_TAG_KEY_MAX_CHARS) {
      problems.push({
        name,
        text: `must have a key of 1 to ${String(CLIENT_TAG_KEY_MAX_CHARS)} characters, not ${String(key.length)}`,
      });
    }
    const { length } = String(value);
    if (length > CLIENT_TAG_VALUE_MAX_CHARS) {
      problems.push({
        name,
        text: `must have at most ${String(CLIENT_TAG_VALUE_MAX_CHARS)} characters, not ${String(length)}`,
      });
    }
  }
  for (const tag of streams['rack.aware.assignment.tags'] as readonly string[]) {
    if (tags.has(tag)) continue;
    problems.push({
      name: 'rack.aware.assignment.tags',
      text: `names ${tag}, but client.tag.${tag} is not given`,
    });
  }
}
