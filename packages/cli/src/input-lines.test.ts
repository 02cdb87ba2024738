import { PassThrough, Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { inputLines } from './input-lines.ts';
import { INPUT_LINE_BYTES } from './limits.ts';

async function linesOf(chunks: readonly (string | Buffer)[]): Promise<string[]> {
  const lines: string[] = [];
  const input = Readable.from(chunks, { objectMode: true });
  for await (const some of inputLines(input, new AbortController().signal)) lines.push(...some);
  return lines;
}

describe('inputLines', () => {
  it('finds lines wherever the chunks are cut', async () => {
    const text = Buffer.from('Zürich\n\nb\r\nlast 🌊');
    const expected = ['Zürich', '', 'b', 'last 🌊'];
    for (let size = 1; size <= text.length; size++) {
      const chunks: Buffer[] = [];
      for (let at = 0; at < text.length; at += size) chunks.push(text.subarray(at, at + size));
      expect(await linesOf(chunks), String(size)).toEqual(expected);
    }
    expect(await linesOf(['a\n'])).toEqual(['a']);
    expect(await linesOf([])).toEqual([]);
  });

  it('refuses a line that no record can hold', async () => {
    const part = Buffer.alloc(INPUT_LINE_BYTES / 2 + 1, 'x');
    await expect(linesOf([part, part])).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  });

  it('ends when it is told to, also while it waits', async () => {
    const input = new PassThrough();
    const controller = new AbortController();
    const lines: string[] = [];
    const reading = (async () => {
      for await (const some of inputLines(input, controller.signal)) {
        lines.push(...some);
        controller.abort();
      }
    })();
    input.write('one\n');
    await reading;
    expect(lines).toEqual(['one']);
    expect(input.destroyed).toBe(true);
  });
});
