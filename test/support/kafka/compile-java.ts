import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder, kafkaJars } from './jars.ts';

/** Class path of the Java sources in a folder, compiled against Kafka's jars, once per version of them. */
export function compileJava(name: string, folder: string): string {
  const jars = join(kafkaJars(), '*');
  const files = readdirSync(folder)
    .filter((file) => file.endsWith('.java'))
    .sort()
    .map((file) => join(folder, file));
  const hash = createHash('sha256');
  for (const file of files) hash.update(readFileSync(file));
  const target = join(cacheFolder(), `${name}-${hash.digest('hex').slice(0, 16)}`);
  const classPath = `${target}:${jars}`;
  if (existsSync(target)) return classPath;
  const output = `${target}.${String(process.pid)}`;
  mkdirSync(output, { recursive: true });
  execFileSync('javac', ['-nowarn', '-d', output, '-cp', jars, ...files], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  try {
    renameSync(output, target);
  } catch (error) {
    if (!existsSync(target)) throw error;
    rmSync(output, { recursive: true, force: true });
  }
  return classPath;
}
