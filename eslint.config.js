import importX from 'eslint-plugin-import-x';
import tseslint from 'typescript-eslint';

/** What only platform/, server/, client/ and the tools around the product may touch. */
const worldGlobals = ['setTimeout', 'setInterval', 'fetch'];
const worldProperties = [
  { object: 'Date', property: 'now', message: 'Take the time from the injected Clock.' },
  { object: 'Math', property: 'random', message: 'Take it from the injected Random.' },
  { object: 'performance', property: 'now', message: 'Take the time from the injected Clock.' },
];
const worldModules = ['fs', 'fs/promises', 'net', 'tls', 'http', 'timers', 'timers/promises'];

export default tseslint.config(
  {
    ignores: [
      '**/dist/**',
      '**/node_modules/**',
      'test/.cache/**',
      'test/house/samples/**',
      // AssemblyScript, which is no TypeScript.
      'packages/protocol/assembly/**',
    ],
  },
  {
    name: 'millrace/typescript',
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    plugins: { 'import-x': importX },
    languageOptions: {
      parserOptions: { projectService: { allowDefaultProject: ['vitest.config.ts'] } },
    },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
      // Decoders and hot loops prove their indexes; an assertion there is the honest form.
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unnecessary-type-parameters': 'off',
      // A unit test of an async interface often has nothing to await.
      '@typescript-eslint/require-await': 'off',
      'import-x/no-default-export': 'error',
      'no-empty': ['error', { allowEmptyCatch: false }],
      eqeqeq: 'error',
      'no-console': 'error',
    },
  },
  {
    name: 'millrace/world',
    files: ['**/packages/{protocol,compaction,broker,runtime}/src/**/*.ts'],
    ignores: [
      '**/*.test.ts',
      '**/platform/**',
      '**/server/**',
      '**/client/**',
      '**/testing-support/**',
    ],
    rules: {
      'no-restricted-globals': ['error', ...worldGlobals],
      'no-restricted-properties': ['error', ...worldProperties],
      'no-restricted-imports': [
        'error',
        { paths: worldModules.flatMap((name) => [name, `node:${name}`]) },
      ],
      'no-restricted-syntax': [
        'error',
        {
          selector: "CallExpression[callee.name='Number'][arguments.0.name=/[oO]ffset/]",
          message: 'Offsets are bigint; a Number loses them above 2^53.',
        },
      ],
    },
  },
  {
    name: 'millrace/commands',
    files: ['**/packages/{cli,examples}/**/*.ts', 'test/**/*.ts', '**/bench/**/*.ts'],
    rules: { 'no-console': 'off' },
  },
  {
    name: 'millrace/tests',
    files: ['**/*.test.ts', 'test/**/*.ts'],
    rules: {
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/unbound-method': 'off',
    },
  },
  {
    name: 'millrace/config-files',
    files: ['*.config.ts', '*.config.js'],
    rules: { 'import-x/no-default-export': 'off' },
  },
);
