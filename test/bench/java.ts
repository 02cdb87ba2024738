import { execFile, execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder, mavenFolder, supportFolder } from '../support/kafka/jars.ts';

/** The Java side calls its applications so in front of their case. */
export const JAVA_APPLICATIONS = 'java-';
const JAVA_DEADLINE_MS = 15 * 60_000;
const run = promisify(execFile);

/** The Java side, built once into the cache; its folder holds classes/ and lib/. */
function javaSide(): string {
  const source = join(supportFolder(), '..', 'bench', 'java');
  const build = join(cacheFolder(), `bench-java-source.${String(process.pid)}`);
  return mavenFolder('bench-java', join(build, 'pom.xml'), (output) => {
    cpSync(source, build, { recursive: true });
    execFileSync('mvn', ['-q', '-B', '-f', join(build, 'pom.xml'), 'package'], {
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    cpSync(join(build, 'target', 'classes'), join(output, 'classes'), { recursive: true });
    process.once('exit', () => rmSync(build, { recursive: true, force: true }));
    return ['dependency:copy-dependencies', `-DoutputDirectory=${join(output, 'lib')}`];
  });
}

/** Runs one command of the Java side and returns what it printed. */
export async function java(args: readonly string[]): Promise<string> {
  const folder = javaSide();
  const classPath = `${join(folder, 'classes')}:${join(folder, 'lib', '*')}`;
  // What it leaves there goes with it: emptied state directories, a library of RocksDB's.
  const temporary = mkdtempSync(join(tmpdir(), 'millrace-bench-java-'));
  try {
    const { stdout } = await run(
      'java',
      ['-Xmx2g', `-Djava.io.tmpdir=${temporary}`, '-cp', classPath, 'bench.StreamsBench', ...args],
      { timeout: JAVA_DEADLINE_MS, maxBuffer: 16 * 1024 * 1024 },
    );
    return stdout;
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}
