import { RecordHeaders } from '@millrace/protocol';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { TaskDouble, type Sent } from '../../operators/testing-support/task-double.ts';
import { stringSerde } from '../../serdes/string.ts';
import type { BufferedRecord } from './buffered-record.ts';
import { ChangeBuffer } from './change-buffer.ts';
import { RecordBuffer } from './record-buffer.ts';
import { restoreInto } from './testing-support/changelog-cursor.ts';

const options = { name: 's', topic: 'test-s-changelog', key: stringSerde, value: stringSerde };
const hex = (bytes: Buffer | null): string | null => bytes?.toString('hex') ?? null;

/** What a changelog still holds once the cleaner has been there: the last record of each key. */
function compacted(sent: readonly Sent[]) {
  const last = new Map<string, Sent>();
  for (const record of sent) {
    const key = hex(record.key) as string;
    last.delete(key);
    last.set(key, record);
  }
  return [...last].map(([key, { value, headers }]) => ({
    key,
    value: hex(value),
    headers: Object.fromEntries([...(headers ?? [])].map((h) => [h.key, hex(h.value)])),
  }));
}

/** Everything about a record that outlives a restart. */
const contents = (record: BufferedRecord): unknown =>
  Object.assign({}, record, { queueIndex: 0, headers: record.headers?.toArray() ?? [] });

const change = fc.record({
  key: fc.constantFrom('a', 'b', 'é', ''),
  value: fc.option(fc.constantFrom('', '1', 'zwei')),
  old: fc.option(fc.constantFrom('', '1', 'zwei')),
  time: fc.nat({ max: 9 }),
  header: fc.option(fc.constantFrom('x', null, ''), { nil: undefined }),
  then: fc.constantFrom('nothing', 'letGo', 'commit'),
});

const headersOf = (value: string | null | undefined): RecordHeaders | null =>
  value === undefined ? null : new RecordHeaders().add('h', value);

it.each([false, true])('a suppress buffer is restored as it was (headers kept: %s)', (keeps) => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 40 }), (steps) => {
      const task = new TaskDouble();
      const buffer = task.open(new ChangeBuffer<string, string>(options, keeps));
      steps.forEach(({ key, value, old, time, header, then }, index) => {
        buffer.put(time, key, value, old, time, headersOf(header), 'in', 1, BigInt(index));
        if (then === 'letGo') buffer.remove(buffer.first as BufferedRecord);
        if (then === 'commit') buffer.flush();
      });
      buffer.flush();
      const restored = new TaskDouble().open(new ChangeBuffer<string, string>(options, keeps));
      restoreInto(restored, compacted(task.sent));
      expect(restored.recordCount).toBe(buffer.recordCount);
      expect(restored.estimatedBytes).toBe(buffer.estimatedBytes);
      for (let kept = buffer.first; kept !== undefined; kept = buffer.first) {
        const again = restored.first as BufferedRecord;
        expect(contents(again)).toEqual(contents(kept));
        buffer.remove(kept);
        restored.remove(again);
      }
      expect(restored.estimatedBytes).toBe(0);
    }),
  );
});

it("a grace join's buffer is restored as it was", () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 40 }), fc.nat({ max: 5 }), (steps, graceMs) => {
      const task = new TaskDouble();
      const buffer = task.open(new RecordBuffer<string, string>(options, graceMs));
      steps.forEach(({ key, value, time, header, then }, index) => {
        buffer.put(key, value ?? 'v', time, headersOf(header), 'l', 1, BigInt(index));
        if (then === 'letGo' && buffer.due !== undefined) buffer.remove(buffer.due);
      });
      const restored = new TaskDouble().open(new RecordBuffer<string, string>(options, graceMs));
      restoreInto(restored, compacted(task.sent));
      expect(restored.recordCount).toBe(buffer.recordCount);
      // A record far in the future lets everything go.
      for (const each of [buffer, restored]) each.put('z', 'end', 1000, null, 'l', 1, 99n);
      for (let kept = buffer.due; kept !== undefined; kept = buffer.due) {
        const again = restored.due as BufferedRecord;
        expect(contents(again)).toEqual(contents(kept));
        buffer.remove(kept);
        restored.remove(again);
      }
      expect(restored.due).toBeUndefined();
    }),
  );
});
