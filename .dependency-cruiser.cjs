/** The arrows of docs/design.md, as rules. Run through `pnpm check:arrows`. */
const only = (name, from, allowed, comment) => ({
  name,
  severity: 'error',
  comment,
  from: { path: from, pathNot: '\\.test\\.ts$|/testing-support/|/bench/' },
  to: { path: '^(packages|test)/', pathNot: [from, ...allowed] },
});
const room = (pkg, name) => `^packages/${pkg}/src/${name}`;

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      severity: 'error',
      comment:
        'A cycle means that two files are one concept, or that an arrow points the wrong way.',
      from: {},
      to: { circular: true },
    },
    only('protocol-knows-nobody', '^packages/protocol/', [], 'protocol is a leaf'),
    only('compaction-knows-protocol', '^packages/compaction/', ['^packages/protocol/'], ''),
    only('broker-knows-the-log', '^packages/broker/', ['^packages/(protocol|compaction)/'], ''),
    only(
      'runtime-knows-protocol',
      '^packages/runtime/(?!src/embedded\\.ts)',
      ['^packages/protocol/', '^packages/runtime/'],
      'only embedded.ts may start a broker',
    ),
    only(
      'embedded-knows-the-broker',
      '^packages/runtime/src/embedded\\.ts',
      ['^packages/(protocol|broker|runtime)/'],
      '',
    ),
    only(
      'examples-are-users',
      '^packages/examples/',
      ['^packages/(runtime|broker)/src/(index|embedded|prometheus|testing)\\.ts'],
      'examples use public entries only',
    ),
    {
      name: 'kafkajs-in-one-place',
      severity: 'error',
      comment: 'kafkajs is the transport behind client/ports.ts; nothing else may know it.',
      from: {
        path: '^packages/(protocol|compaction|broker|runtime|cli)/',
        pathNot: '^packages/runtime/src/client/kafkajs/|\\.test\\.ts$|/bench/',
      },
      to: { path: 'node_modules/kafkajs/' },
    },
    {
      name: 'rxjs-at-the-edge',
      severity: 'error',
      comment: 'Observables are for state and progress, never for records.',
      from: { path: '^packages/runtime/src/(operators|state|serdes|topology|dsl|client)/' },
      to: { path: 'node_modules/rxjs/' },
    },
    only(
      'operators-know-state',
      room('runtime', 'operators/'),
      [
        room('runtime', '(state|serdes)/'),
        room('runtime', '(errors|limits|duration)\\.ts'),
        '^packages/protocol/',
      ],
      'dsl → topology → operators → state',
    ),
    only(
      'state-knows-serdes',
      room('runtime', 'state/'),
      [
        room('runtime', '(serdes|platform)/'),
        room('runtime', '(errors|limits|duration)\\.ts'),
        '^packages/protocol/',
      ],
      '',
    ),
    only(
      'topology-knows-operators',
      room('runtime', 'topology/'),
      [
        room('runtime', '(operators|state|serdes)/'),
        room('runtime', '(errors|limits)\\.ts'),
        '^packages/protocol/',
      ],
      '',
    ),
    only(
      'client-knows-no-task',
      room('runtime', 'client/'),
      [
        room('runtime', '(serdes|platform|logging)/'),
        room('runtime', '(errors|limits|state-machine)\\.ts'),
        '^packages/protocol/',
      ],
      '',
    ),
    {
      name: 'segments-know-no-log',
      severity: 'error',
      comment: 'cleaner, view, replica → log → segment',
      from: { path: '^packages/compaction/src/segment/', pathNot: '\\.test\\.ts$' },
      to: { path: '^packages/compaction/src/(log|log-dir|cleaner|view|replica)/' },
    },
    {
      name: 'server-knows-handlers-through-the-registry',
      severity: 'error',
      comment: '',
      from: { path: '^packages/broker/src/server/', pathNot: '\\.test\\.ts$' },
      to: { path: '^packages/broker/src/handlers/[0-9]' },
    },
    {
      name: 'no-source-of-others',
      severity: 'error',
      comment: 'Packages meet at their entries.',
      from: { path: '^packages/([^/]+)/', pathNot: '\\.test\\.ts$|/bench/' },
      to: {
        path: '^packages/([^/]+)/src/',
        pathNot: [
          '^packages/$1/',
          '^packages/[^/]+/src/(index|cluster|embedded|opentelemetry|prometheus|testing)\\.ts$',
        ],
      },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)dist/' },
    tsPreCompilationDeps: true,
    combinedDependencies: true,
    enhancedResolveOptions: {
      conditionNames: ['millrace-source', 'import', 'require', 'node', 'default'],
      exportsFields: ['exports'],
      extensions: ['.ts', '.js', '.mjs', '.cjs', '.json'],
    },
  },
};
