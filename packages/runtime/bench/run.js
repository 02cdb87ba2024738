// Bundles a benchmark with the runtime's sources and runs it in a process of its own; the protocol
// package, with its native parts, is used as built (pnpm build):
//   node packages/runtime/bench/run.js loop [--cpu-prof] [arguments of the benchmark]
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const here = fileURLToPath(new URL('.', import.meta.url));
const [name = 'loop', ...rest] = process.argv.slice(2);
const outDir = `${here}dist`;

await build({
  configFile: false,
  root: here,
  logLevel: 'warn',
  resolve: { conditions: ['millrace-source'] },
  ssr: {
    resolve: { conditions: ['millrace-source'] },
    external: ['@millrace/protocol'],
  },
  build: {
    ssr: `${here}${name}.ts`,
    outDir,
    target: 'node20',
    minify: false,
    emptyOutDir: false,
  },
});

const nodeFlags = rest.includes('--cpu-prof') ? ['--cpu-prof', `--cpu-prof-dir=${outDir}`] : [];
const args = rest.filter((argument) => argument !== '--cpu-prof');
const { status } = spawnSync(process.execPath, [...nodeFlags, `${outDir}/${name}.js`, ...args], {
  stdio: 'inherit',
});
process.exitCode = status ?? 1;
