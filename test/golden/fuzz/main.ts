import { parseArgs } from 'node:util';
import { missingForJava } from '../../support/kafka/jars.ts';
import { fuzz } from './fuzz.ts';
import { JavaStreams } from './java-streams.ts';

const usage = 'usage: fuzz --seed N --cases N';
const PROGRESS_EVERY_CASES = 100;

/** Random cases through Kafka Streams and Millrace; every difference is made small and saved. */
async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: args.filter((arg) => arg !== '--'),
    options: { seed: { type: 'string', default: '1' }, cases: { type: 'string', default: '200' } },
  });
  const seed = Number(values.seed);
  const cases = Number(values.cases);
  if (!Number.isSafeInteger(seed) || !Number.isSafeInteger(cases) || cases < 1) {
    console.error(usage);
    return 2;
  }
  const missing = missingForJava();
  if (missing !== null) {
    console.error(`fuzz runs Kafka Streams in Java, but ${missing}`);
    return 2;
  }
  const java = new JavaStreams();
  try {
    const { same, differences } = await fuzz(java, {
      seed,
      cases,
      onCase: (done, different) => {
        if (done % PROGRESS_EVERY_CASES !== 0) return;
        console.log(`${String(done)} cases, ${String(different)} different`);
      },
    });
    for (const { name, file, where, difference } of differences) {
      console.log(
        `\nDIFFERENT ${name}\n${where}\n${difference}\nto run it again: pnpm golden ${file}`,
      );
    }
    console.log(
      `seed ${String(seed)}: ${String(same)} same, ${String(differences.length)} different`,
    );
    return differences.length === 0 ? 0 : 1;
  } finally {
    await java.close();
  }
}

process.exitCode = await main(process.argv.slice(2));
