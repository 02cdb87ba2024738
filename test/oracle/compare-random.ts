import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LogOracle } from '../support/log-oracle.ts';
import { compareAnswers } from './compare-answers.ts';
import { dumpSegments } from './dump-segments.ts';
import { askOurCleaner } from './our-cleaner.ts';
import { RandomCase, type Round } from './random-case.ts';
import type { CleaningAnswer, CleaningRequest } from './requests.ts';

/** Kafka 4.4's pass fails with this where a merged segment needs more index entries than it may have. */
const FULL_INDEX = 'Attempt to append to a full';
const DEFAULT_INDEX_BYTES = 10_485_760;

interface Verified {
  readonly mismatches: readonly string[];
}

/** Has both cleaners go over one random history; where they differ, or Kafka's tools complain of our files. */
export async function compareRandomCase(oracle: LogOracle, seed: number): Promise<string[]> {
  const root = mkdtempSync(join(tmpdir(), `oracle-random-${String(seed)}-`));
  try {
    const theirs = join(root, 'theirs', 't-0');
    mkdirSync(theirs, { recursive: true });
    let checkpoint: number | undefined;
    for (const [index, round] of new RandomCase(seed).rounds.entries()) {
      const outcome = await compareRound(oracle, root, round, checkpoint);
      if (outcome.differences.length > 0) {
        return outcome.differences.map((one) => `round ${String(index + 1)}: ${one}`);
      }
      checkpoint = outcome.checkpoint;
      if (round.goesOnWithOurs) replaceFolder(join(root, 'ours', 't-0'), theirs);
    }
    return [];
  } finally {
    rmSync(root, { recursive: true });
  }
}

function replaceFolder(from: string, to: string): void {
  rmSync(to, { recursive: true, force: true });
  cpSync(from, to, { recursive: true, preserveTimestamps: true });
}

async function compareRound(
  oracle: LogOracle,
  root: string,
  round: Round,
  checkpoint: number | undefined,
): Promise<{ differences: string[]; checkpoint: number | undefined }> {
  const theirDir = join(root, 'theirs', 't-0');
  const ourDir = join(root, 'ours', 't-0');
  const { nowMs, config, batches, pass } = round;
  await oracle.ask({ cmd: 'write', dir: theirDir, nowMs, config, batches });
  replaceFolder(theirDir, ourDir);
  const ask = async (request: CleaningRequest): Promise<[CleaningAnswer, string[]]> => {
    const before = dumpSegments(ourDir);
    const roomy = { ...request.config, 'segment.index.bytes': DEFAULT_INDEX_BYTES };
    let isIndexFull = false;
    let theirs: CleaningAnswer;
    try {
      theirs = await oracle.ask<CleaningAnswer>({ ...request, dir: theirDir });
    } catch (error) {
      if (!String(error).includes(FULL_INDEX)) throw error;
      isIndexFull = true;
      replaceFolder(ourDir, theirDir);
      theirs = await oracle.ask<CleaningAnswer>({ ...request, config: roomy, dir: theirDir });
    }
    const ours = await askOurCleaner(join(root, 'ours'), request);
    const circumstances = { before, hasOwnSizes: false, isIndexFull };
    const differences = compareAnswers(request, circumstances, theirs, ours);
    return [theirs, differences.map((one) => `${request.cmd}: ${one}`)];
  };
  const [range, differences] = await ask({
    ...pass,
    cmd: 'cleanable',
    ...(checkpoint === undefined ? {} : { checkpoint }),
  });
  if (differences.length > 0 || range.firstDirtyOffset >= range.firstUncleanableOffset) {
    return { differences, checkpoint: range.firstDirtyOffset };
  }
  const [cleaned, found] = await ask({
    ...pass,
    cmd: 'clean',
    firstDirtyOffset: range.firstDirtyOffset,
  });
  const { mismatches } = await oracle.ask<Verified>({ cmd: 'verify', dir: ourDir });
  return {
    differences: [...found, ...mismatches.map((one) => `DumpLogSegments of ours: ${one}`)],
    checkpoint: cleaned.nextFirstDirtyOffset,
  };
}
