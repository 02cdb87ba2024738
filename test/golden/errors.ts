import { GoldenFailure } from './expressions.ts';

/** Classes and messages from the outermost exception inwards. */
export type JavaChain = readonly (readonly [string, string | null])[];

/**
 * What Millrace throws where Kafka Streams throws such a chain of exceptions: the codes that the
 * outermost coded error may have. Java's class casts are its form of a value that its serde refuses.
 */
const codesByChain: Readonly<Record<string, readonly string[]>> = {
  IllegalArgumentException: ['TOPOLOGY_INVALID', 'TEST_DRIVER_MISUSED'],
  ConfigException: ['CONFIG_INVALID', 'TOPOLOGY_INVALID'],
  TopologyException: ['TOPOLOGY_INVALID'],
  StreamsException: ['TIMESTAMP_INVALID', 'PROCESSING_FAILED'],
  'StreamsException > ConfigException': ['TOPOLOGY_INVALID'],
  'StreamsException > IllegalStateException': ['PROCESSING_FAILED'],
  'StreamsException > SerializationException': ['DESERIALIZATION_FAILED', 'PRODUCTION_FAILED'],
  'StreamsException > StreamsException': ['PROCESSING_FAILED'],
  'StreamsException > StreamsException > ClassCastException': [
    'PROCESSING_FAILED',
    'PRODUCTION_FAILED',
  ],
  'StreamsException > StreamsException > IllegalArgumentException': [
    'PROCESSING_FAILED',
    'PRODUCTION_FAILED',
  ],
  'ProcessorStateException > IllegalStateException': ['CACHE_FLUSH_FAILED'],
  'ProcessorStateException > StreamsException': ['CACHE_FLUSH_FAILED'],
  'ProcessorStateException > StreamsException > ClassCastException': ['CACHE_FLUSH_FAILED'],
};

/** Whether an error stands for the recorded chain; if not, why. */
export function errorDifference(chain: JavaChain, error: unknown): string | null {
  const classes = chain.map(([name]) => name.slice(name.lastIndexOf('.') + 1)).join(' > ');
  const codes = codesByChain[classes];
  if (codes === undefined) return `no code is known for ${classes}`;
  const code = codeOf(error);
  if (code === null || !codes.includes(code)) {
    return `${classes} should be ${codes.join(' or ')}, not ${String(code)}: ${String(error)}`;
  }
  const [name, message] = chain.at(-1) as readonly [string, string | null];
  const own = causes(error).find((cause) => cause instanceof GoldenFailure);
  if (own instanceof GoldenFailure && (own.javaClass !== name || own.message !== message)) {
    return `the innermost error should be ${name}: ${String(message)}, not ${own.javaClass}: ${own.message}`;
  }
  return null;
}

function codeOf(error: unknown): string | null {
  const code = (error as { readonly code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : null;
}

function causes(error: unknown): unknown[] {
  const all: unknown[] = [];
  for (let at = error; at instanceof Error && all.length < 10; at = at.cause) all.push(at);
  return all;
}
