import { GoldenFailure } from './expressions.ts';

/** Classes and messages from the outermost exception inwards. */
export type JavaChain = readonly (readonly [string, string | null])[];

/** An exception of Kafka Streams by class and message, and the code of ours that stands for it. */
type Rule = readonly [javaClass: string, message: RegExp, code: string];

const TOPOLOGY = 'TOPOLOGY_INVALID';

/** The outermost exception says what failed: the code of our outermost error. */
const outermost: readonly Rule[] = [
  ['TopologyException', /^Invalid topology: /, TOPOLOGY],
  ['IllegalArgumentException', /^Unknown topic: /, 'TEST_DRIVER_MISUSED'],
  // Every other argument of the DSL that cannot be: windows, retention, history.
  ['IllegalArgumentException', /./, TOPOLOGY],
  ['ConfigException', /./, 'CONFIG_INVALID'],
  ['StreamsException', /^Failed to initialize (key|value) serdes for store/, TOPOLOGY],
  ['StreamsException', /^Found a null keyChangingChild node/, TOPOLOGY],
  ['StreamsException', /has invalid \(negative\) timestamp/, 'TIMESTAMP_INVALID'],
  ['StreamsException', /^Could not infer new timestamp/, 'TIMESTAMP_INVALID'],
  ['StreamsException', /^Fatal user code error in TimestampExtractor/, 'PROCESSING_FAILED'],
  ['StreamsException', /^Deserialization exception handler is set/, 'DESERIALIZATION_FAILED'],
  ['StreamsException', /^Unable to serialize record/, 'PRODUCTION_FAILED'],
  ['StreamsException', /^ClassCastException while producing/, 'SERDE_TYPE_MISMATCH'],
  ['StreamsException', /^Exception caught in process\./, 'PROCESSING_FAILED'],
  ['StreamsException', /Exception caught while punctuating/, 'PROCESSING_FAILED'],
  ['ProcessorStateException', /Failed to flush cache of store/, 'CACHE_FLUSH_FAILED'],
];

/** The one below says why: the code of one of our causes. Functions of a case throw GoldenFailures. */
const causes: readonly Rule[] = [
  ['StreamsException', /^Unable to serialize record/, 'PRODUCTION_FAILED'],
  ['StreamsException', /^ClassCastException while producing/, 'SERDE_TYPE_MISMATCH'],
  ['StreamsException', /^A serializer .* is not compatible/, 'SERDE_TYPE_MISMATCH'],
  ['StreamsException', /buffer exceeded its max capacity/, 'BUFFER_FULL'],
  ['StreamsException', /^Malformed Record/, 'PROCESSOR_MISUSED'],
  ['StreamsException', /^Unknown downstream node/, 'PROCESSOR_MISUSED'],
  ['SerializationException', /^Size of data received by/, 'SERIALIZATION_FAILED'],
];

/** Whether an error stands for the recorded chain; if not, why. */
export function errorDifference(chain: JavaChain, error: unknown): string | null {
  const [first, second] = chain;
  if (first === undefined) return 'the recorded chain is empty';
  const code = codeFor(outermost, first);
  if (code === null) return `no code is known for ${first.join(': ')}`;
  const chainOfOurs = causesOf(error);
  const given = codeOf(error);
  if (given !== code) return `${first.join(': ')}\nshould be ${code}, not ${shown(chainOfOurs)}`;
  const cause = second === undefined ? null : codeFor(causes, second);
  if (cause !== null && !chainOfOurs.some((each) => codeOf(each) === cause)) {
    return `${second?.join(': ') ?? ''}\nshould be ${cause}, not ${shown(chainOfOurs)}`;
  }
  const [name, message] = chain.at(-1) as readonly [string, string | null];
  const own = chainOfOurs.find((each) => each instanceof GoldenFailure);
  if (own instanceof GoldenFailure && (own.javaClass !== name || own.message !== message)) {
    return `the innermost error should be ${name}: ${String(message)}, not ${own.javaClass}: ${own.message}`;
  }
  return null;
}

function codeFor(rules: readonly Rule[], [name, message]: JavaChain[number]): string | null {
  const simpleName = name.slice(name.lastIndexOf('.') + 1);
  const rule = rules.find(
    ([javaClass, pattern]) => javaClass === simpleName && pattern.test(message ?? ''),
  );
  return rule?.[2] ?? null;
}

function codeOf(error: unknown): string | null {
  const code = (error as { readonly code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : null;
}

function shown(chain: readonly unknown[]): string {
  return chain.map((each) => `${String(codeOf(each))} (${String(each)})`).join(' < ');
}

function causesOf(error: unknown): unknown[] {
  const all: unknown[] = [];
  for (let at = error; at instanceof Error && all.length < 10; at = at.cause) all.push(at);
  return all;
}

const STREAMS_EXCEPTION = 'org.apache.kafka.streams.errors.StreamsException';

/** Java's classes in the headers of dead letters, by ours. A GoldenFailure has Java's name already. */
const javaClasses: ReadonlyMap<string, string> = new Map([
  ['SerializationError', 'org.apache.kafka.common.errors.SerializationException'],
  ['WrongTypeError', STREAMS_EXCEPTION],
  ['ProductionError', STREAMS_EXCEPTION],
  ['BufferFullError', STREAMS_EXCEPTION],
  ['ProcessorUsageError', STREAMS_EXCEPTION],
]);

const javaDeserializers: ReadonlyMap<string, string> = new Map([
  ['long', 'LongDeserializer'],
  ['integer', 'IntegerDeserializer'],
  ['short', 'ShortDeserializer'],
]);

/** The header of a dead letter in Java's words: class names and messages are each language's own. */
export function inJavaWords(header: string, text: string): string {
  if (header === '__streams.errors.stacktrace') return '*';
  if (header === '__streams.errors.exception') return javaClasses.get(text) ?? text;
  if (header !== '__streams.errors.message') return text;
  const [, serde = '', size = ''] = /^The serde "(.*)" reads exactly (\d+) bytes/.exec(text) ?? [];
  const deserializer = javaDeserializers.get(serde);
  return deserializer === undefined
    ? text
    : `Size of data received by ${deserializer} is not ${size}`;
}
