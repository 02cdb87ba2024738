import type { ReadFrom, ReadTo } from '@millrace/runtime/cluster';
import { InvalidArgumentError } from 'commander';
import { parseTimeMs } from './times.ts';

/** `beginning`, `end`, an offset, `-N` for the last N of each partition, or a time. */
export function parseFrom(text: string): ReadFrom {
  if (text === 'beginning' || text === 'end') return text;
  if (/^\d+$/.test(text)) return { offset: BigInt(text) };
  if (/^-\d+$/.test(text)) return { tail: BigInt(text.slice(1)) };
  const timestampMs = parseTimeMs(text);
  if (timestampMs !== null) return { timestampMs };
  throw new InvalidArgumentError(
    `'${text}' is none of: beginning, end, an offset such as 42, -10 for the last ten of each ` +
      'partition, a time such as 2026-11-30T08:15 or @1764490500000.',
  );
}

/** `end`, an offset, or a time: what lies there is not read any more. */
export function parseTo(text: string): ReadTo {
  if (text === 'end') return text;
  if (/^\d+$/.test(text)) return { offset: BigInt(text) };
  const timestampMs = parseTimeMs(text);
  if (timestampMs !== null) return { timestampMs };
  throw new InvalidArgumentError(
    `'${text}' is none of: end, an offset such as 42, a time such as 2026-11-30T08:15 or @1764490500000.`,
  );
}
