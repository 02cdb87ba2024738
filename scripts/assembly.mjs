/**
 * `node scripts/assembly.mjs`: compiles packages/protocol/assembly/lz4-block.ts and writes the result, with
 * the hash of its source, into packages/protocol/src/compression/lz4-block-code.ts. A test tells when
 * that was forgotten. The compiler is fetched for it: nobody else needs one.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const COMPILER = 'assemblyscript@0.28.9';
const LINE_CHARACTERS = 90;

const inProtocol = (path) =>
  fileURLToPath(new URL(`../packages/protocol/${path}`, import.meta.url));
const source = inProtocol('assembly/lz4-block.ts');
const output = mkdtempSync(join(tmpdir(), 'assembly-'));
try {
  const code = join(output, 'lz4-block.wasm');
  const features = ['--enable', 'simd', '--enable', 'bulk-memory'];
  const settings = ['-O3', '--runtime', 'stub', '--noAssert', ...features, '--outFile', code];
  const compiler = ['--yes', '--package', COMPILER, '--', 'asc'];
  execFileSync('npx', [...compiler, source, ...settings], { cwd: output, stdio: 'inherit' });
  const lines = readFileSync(code)
    .toString('base64')
    .match(new RegExp(`.{1,${LINE_CHARACTERS}}`, 'g'));
  const hash = createHash('sha256').update(readFileSync(source)).digest('hex');
  writeFileSync(
    inProtocol('src/compression/lz4-block-code.ts'),
    `/** Made of assembly/lz4-block.ts by scripts/assembly.mjs: WebAssembly, in base64. */
export const LZ4_BLOCK_CODE =
${lines.map((line) => `  '${line}'`).join(' +\n')};

/** SHA-256 of the source that it was made of. */
export const LZ4_BLOCK_SOURCE_HASH =
  '${hash}';
`,
  );
} finally {
  rmSync(output, { recursive: true });
}
