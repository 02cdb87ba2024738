import { InvalidArgumentError, type Command } from 'commander';
import { invalidCommand } from './errors.ts';
import type { ResetTarget } from './reset-target.ts';
import { parseDuration, parseTimeMs } from './times.ts';

export interface ResetTargetOptions {
  readonly toEarliest?: boolean;
  readonly toLatest?: boolean;
  readonly toOffset?: bigint;
  readonly toDatetime?: number;
  readonly shiftBy?: bigint;
  readonly byDuration?: number;
}

/** Where offsets are set to. */
export function addResetTargetOptions(command: Command): Command {
  return command
    .option('--to-earliest', 'to the begin of each log')
    .option('--to-latest', 'to the end of each log')
    .option('--to-offset <offset>', 'to this offset', parseOffset)
    .option('--to-datetime <time>', 'to the first record of then or later', parseDateTime)
    .option('--shift-by <count>', 'by so many offsets, back if negative', parseShift)
    .option(
      '--by-duration <duration>',
      'to the first record of so long ago or later',
      parseDuration,
    );
}

/** All that were given. */
export function resetTargetsOf(options: ResetTargetOptions): ResetTarget[] {
  const { toOffset, toDatetime, shiftBy, byDuration } = options;
  const targets: ResetTarget[] = [];
  if (options.toEarliest === true) targets.push({ kind: 'earliest' });
  if (options.toLatest === true) targets.push({ kind: 'latest' });
  if (toOffset !== undefined) targets.push({ kind: 'offset', offset: toOffset });
  if (toDatetime !== undefined) targets.push({ kind: 'time', timestampMs: toDatetime });
  if (shiftBy !== undefined) targets.push({ kind: 'shift', by: shiftBy });
  if (byDuration !== undefined) {
    targets.push({ kind: 'time', timestampMs: Math.max(0, Date.now() - byDuration) });
  }
  return targets;
}

/** @throws CommandError `COMMAND_INVALID` */
export function refuseContradiction(options: {
  readonly execute?: boolean;
  readonly dryRun?: boolean;
}): void {
  if (options.execute === true && options.dryRun === true) {
    throw invalidCommand('--execute and --dry-run contradict each other.');
  }
}

function parseOffset(text: string): bigint {
  if (/^\d{1,19}$/.test(text)) return BigInt(text);
  throw new InvalidArgumentError(`'${text}' is no offset from 0 on.`);
}

function parseShift(text: string): bigint {
  if (/^[+-]?\d{1,19}$/.test(text)) return BigInt(text.replace('+', ''));
  throw new InvalidArgumentError(`'${text}' is no whole number such as -100.`);
}

function parseDateTime(text: string): number {
  const ms = parseTimeMs(text);
  if (ms !== null) return ms;
  throw new InvalidArgumentError(
    `'${text}' is no time such as 2026-11-30T08:15 (UTC, or with a zone) or @1764490500000.`,
  );
}
