// Writes docs/configs.md from the tables that the runtime checks a configuration with; build first.
// With --check it writes nothing, and fails if the page is not what it would write.
import { readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  consumerDefinitions,
  producerDefinitions,
} from '../packages/runtime/dist/config/client-definitions.js';
import { streamsDefinitions } from '../packages/runtime/dist/config/streams-definitions.js';

const page = fileURLToPath(new URL('../docs/configs.md', import.meta.url));
const importances = ['high', 'medium', 'low'];
const types = {
  deserializationHandler: 'handler',
  processingHandler: 'handler',
  productionHandler: 'handler',
  timestampExtractor: 'function',
  nullableString: 'string',
  nullableInt: 'int',
  nullableLong: 'long',
};

function type({ name, type: kind }) {
  const isNumber = /int|long/i.test(kind);
  return isNumber && name.endsWith('.ms') ? 'duration' : (types[kind] ?? kind);
}

function showDefault({ default: value, isRequired }) {
  if (isRequired) return 'required';
  if (value === null) return 'none';
  if (value === '' || (Array.isArray(value) && value.length === 0)) return 'empty';
  if (value === join(tmpdir(), 'kafka-streams'))
    return '`kafka-streams` in the directory for temporary files';
  return `\`${String(value)}\``;
}

function cell(text) {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
}

function table(definitions) {
  const rows = [...definitions].sort(
    (one, other) =>
      importances.indexOf(one.importance) - importances.indexOf(other.importance) ||
      (one.name < other.name ? -1 : 1),
  );
  return [
    '| key | type | default | allowed | importance | |',
    '|---|---|---|---|---|---|',
    ...rows.map((definition) =>
      [
        '',
        ` \`${definition.name}\` `,
        ` ${type(definition)} `,
        ` ${showDefault(definition)} `,
        ` ${cell(definition.allowed?.text ?? '')} `,
        ` ${definition.importance} `,
        ` ${cell(definition.doc)} `,
        '',
      ].join('|'),
    ),
  ].join('\n');
}

const withEffect = (definitions) => definitions.filter(({ effect }) => effect);
const withoutEffect = (definitions) => definitions.filter(({ effect }) => !effect);

function render() {
  return `# Configuration

<!-- Written by scripts/configs.mjs from packages/runtime/src/config; a test keeps the two equal. -->

The keys are those of Kafka Streams 4.4, with its defaults. They come from, each over the one before:

1. the defaults below;
2. a file: \`new KafkaStreams(topology, config, { configFile: text })\`, one JSON object;
3. code: the object given to \`new KafkaStreams\`, \`startEmbedded\`, \`connect\` or \`TopologyTestDriver\`;
4. the environment: \`MILLRACE_\` and the key in capitals, with \`_\` for dots and hyphens, such as
   \`MILLRACE_COMMIT_INTERVAL_MS\`; keys without a prefix only.

Everything that is wrong is in one \`ConfigError\`, with what is allowed, and with the nearest name for a key that is not
known. A duration is a number of milliseconds, or text such as \`'30s'\`, \`'5m'\` or \`'1h 30m'\`. A list may be one text
with commas. A handler is \`'fail'\`, \`'continue'\`, a function, or the name of one of Kafka Streams' own classes.

Keys of clients stand bare or under a prefix; what is further to the left counts for more:

| of | under |
|---|---|
| the consumer of sources | \`main.consumer.\`, \`consumer.\`, bare |
| the consumer that restores | \`restore.consumer.\`, \`consumer.\`, bare |
| the consumer of global topics | \`global.consumer.\`, \`consumer.\`, bare |
| the producer | \`producer.\`, bare |
| internal topics, defaults of their configuration | \`topic.\` (any topic configuration; \`topic.segment.bytes\` at least \`batch.size\`) |
| tags | \`client.tag.\` (at most 5, keys of up to 20 and values of up to 30 characters) |

## The application

${table(withEffect(streamsDefinitions))}

## Consumers

${table(withEffect(consumerDefinitions))}

## The producer

${table(withEffect(producerDefinitions))}

## Accepted without effect

So that the configuration of a Java application can be carried over. They are checked like the others, and those that
are set are named in a line of the log at the start. The same holds for keys under \`admin.\` and \`client.tag.\`, and for
keys of connections and metrics (\`request.timeout.ms\` ...) under the prefix of one client: here all are made alike.

${table([
  ...withoutEffect(streamsDefinitions),
  ...new Map(
    withoutEffect([...consumerDefinitions, ...producerDefinitions]).map((one) => [one.name, one]),
  ).values(),
])}
`;
}

const text = render();
if (!process.argv.includes('--check')) {
  writeFileSync(page, text);
} else if (readFileSync(page, 'utf8') !== text) {
  console.error('docs/configs.md is out of date: run node scripts/configs.mjs');
  process.exitCode = 1;
}
