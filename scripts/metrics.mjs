// Writes docs/metrics.md from the table of all metrics; build first. With --check it writes nothing, and
// fails if the page is not what it would write.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { absentMetrics } from '../packages/runtime/dist/metrics/absent-metrics.js';
import { metricDefinitions, storeScopes } from '../packages/runtime/dist/metrics/definitions.js';

const page = fileURLToPath(new URL('../docs/metrics.md', import.meta.url));

const about = {
  'stream-metrics': 'Of the client; the last three are those of its process.',
  'stream-thread-metrics':
    'Of each stream thread, and of the thread of the global stores, which has a few of them. A pass is one turn of ' +
    "the thread's loop: take what was fetched, process (40 ms at most), restore, commit.",
  'stream-state-updater-metrics':
    'Of restoring. Kafka Streams has threads of their own for it; here `thread-id` is the stream thread.',
  'stream-task-metrics': 'Of each task, while it is open.',
  'stream-processor-node-metrics': "Of a task's nodes.",
  'stream-topic-metrics':
    'Of the topics that a node reads and writes; changelogs are not among them.',
  'stream-state-metrics': "Of a task's stores.",
  'stream-record-cache-metrics': "Of the record caches before a task's stores.",
};

function cell(text) {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
}

function table(group) {
  const rows = metricDefinitions.filter((definition) => definition.group === group);
  return [
    '| name | type | unit | level | tags | | Kafka Streams |',
    '|---|---|---|---|---|---|---|',
    ...rows.map(({ name, type, unit, level, tags, description, isKafkas }) =>
      [
        '',
        ` \`${name}\` `,
        ` ${type} `,
        ` ${unit} `,
        ` ${level} `,
        ` ${tags.map((tag) => `\`${tag}\``).join(' ')} `,
        ` ${cell(description)} `,
        isKafkas ? ' the same ' : ' – ',
        '',
      ].join('|'),
    ),
  ].join('\n');
}

const groups = [...new Set(metricDefinitions.map(({ group }) => group))];

function render() {
  return `# Metrics

<!-- Written by scripts/metrics.mjs from packages/runtime/src/metrics; a test keeps the two equal. -->

Names, groups, tags and levels are those of Kafka Streams 4.4, as they were read from a running application; the last
column says which are Millrace's own. There are three ways to read them:

- \`streams.metrics()\`: a list of objects with name, group, tags, type, unit, and \`value()\`.
- Prometheus: \`registerPrometheusMetrics(streams, registry)\` of \`@millrace/runtime/prometheus\` adds them to a registry of
  [prom-client](https://www.npmjs.com/package/prom-client), as \`kafka_streams_<group>_<name>\` with \`_\` for \`-\`: what
  Prometheus' JMX exporter calls them. Tags are labels.
- OpenTelemetry: \`registerOpenTelemetryMetrics(streams, meter)\` of \`@millrace/runtime/opentelemetry\` makes observable
  instruments, named \`org.apache.kafka.<group without -metrics>.<name>\` with \`.\` for \`-\`: what Kafka's clients call them
  when they push (KIP-714). Tags are attributes.

Both leave out texts, and averages of nothing, which are NaN in the list.

Reading them costs something, having them next to nothing: a record adds to a few counters, and everything else is
taken once per pass of a thread. \`metrics.recording.level=DEBUG\` measures what is marked so below, too: stores are then
timed at each call.

Rates, averages, minima and maxima go over \`metrics.num.samples\` windows of \`metrics.sample.window.ms\` (2 of 30 s), and
the one that is being filled. As in Kafka, a rate counts all windows but one as full from the start, and is too low
before that; ratios do not.

\`<store-scope>\` is ${storeScopes.map((scope) => `\`${scope}\``).join(', ')}. What is on disk is RocksDB's in
Kafka Streams (\`rocksdb-state\` ...), and LMDB's here.

${groups.map((group) => `## ${group}\n\n${about[group]}\n\n${table(group)}`).join('\n\n')}

## Not there

What Kafka Streams has besides:

| group | names | why not here |
|---|---|---|
${absentMetrics
  .map(
    ({ group, names, reason }) =>
      `| \`${group}\` | ${names.map((name) => `\`${name}\``).join(', ')} | ${reason} |`,
  )
  .join('\n')}

The metrics of Kafka's own consumers, producers and admin clients, which a Java application has beside these, have no
counterpart: Millrace has clients of its own.
`;
}

const text = render();
if (!process.argv.includes('--check')) {
  writeFileSync(page, text);
} else if (readFileSync(page, 'utf8') !== text) {
  console.error('docs/metrics.md is out of date: run node scripts/metrics.mjs');
  process.exitCode = 1;
}
