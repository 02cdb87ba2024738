import { FakeClock } from '@millrace/compaction';
import { expect, it } from 'vitest';
import { CleanProgress } from './clean-progress.ts';

it('tells now and then how far a long pass is, and nothing of a short one', () => {
  const clock = new FakeClock();
  const lines: string[] = [];
  const progress = new CleanProgress({ err: (text) => lines.push(text) }, clock);
  const short = progress.of({ name: 'a-0', sizeInBytes: 1 });
  clock.advance(4_000);
  short.throttle(10);
  const long = progress.of({ name: 'b-0', sizeInBytes: 100 * 1_048_576 });
  for (let second = 0; second < 8; second++) {
    long.throttle(3 * 1_048_576);
    clock.advance(1_000);
  }
  expect(lines).toEqual([
    'b-0: of 100 MiB, 6 MiB read and written so far',
    'b-0: of 100 MiB, 21 MiB read and written so far',
  ]);
});
