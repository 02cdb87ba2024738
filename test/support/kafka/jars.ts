import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const KAFKA_VERSION = '4.4.0';

const MAVEN_DEADLINE_MS = 20 * 60_000;

/** The checkout's test folder, found from source and from dist alike. */
function testFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'support', 'kafka', 'pom.xml'))) {
    const parent = dirname(folder);
    if (parent === folder) throw new Error('test/support/kafka/pom.xml not found');
    folder = parent;
  }
  return folder;
}

/** Where downloads and builds of other people's code are kept; never committed. */
export function cacheFolder(): string {
  return join(testFolder(), '.cache');
}

export function supportFolder(): string {
  return join(testFolder(), 'support');
}

function runs(command: string, args: string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

let missing: string | null | undefined;

/** null if this machine can run Java suites, else what it lacks. In CI a lack is an error, not a reason to skip. */
export function missingForJava(): string | null {
  if (missing === undefined) {
    if (!runs('java', ['-version'])) missing = 'java (17 or later) is not on the PATH';
    else if (!runs('mvn', ['-v'])) missing = 'mvn is not on the PATH';
    else missing = null;
    if (missing !== null && process.env['CI'] !== undefined) {
      throw new Error(`${missing}, and CI must run every suite`);
    }
  }
  return missing;
}

/**
 * Runs a Maven goal so that `target` appears at once or not at all: two processes may ask for it
 * at the same time, and one may be killed half-way.
 */
export function mavenFolder(
  name: string,
  pom: string,
  goals: (output: string) => string[],
): string {
  const target = join(cacheFolder(), name);
  if (existsSync(target) && readdirSync(target).length > 0) return target;
  mkdirSync(cacheFolder(), { recursive: true });
  const output = `${target}.${String(process.pid)}`;
  rmSync(output, { recursive: true, force: true });
  execFileSync('mvn', ['-q', '-B', '-f', pom, ...goals(output)], {
    stdio: ['ignore', 'inherit', 'inherit'],
    timeout: MAVEN_DEADLINE_MS,
  });
  try {
    renameSync(output, target);
  } catch (error) {
    if (!existsSync(target)) throw error;
    rmSync(output, { recursive: true, force: true });
  }
  return target;
}

/** Folder with the jars of Kafka 4.4.0 and its dependencies (94 jars, 126 MB), fetched from Maven Central once. */
export function kafkaJars(): string {
  return mavenFolder(
    `kafka-${KAFKA_VERSION}`,
    join(supportFolder(), 'kafka', 'pom.xml'),
    (output) => [
      'dependency:copy-dependencies',
      '-DincludeScope=runtime',
      `-DoutputDirectory=${output}`,
    ],
  );
}
