import { describe, expect, it } from 'vitest';
import { counted, renderFields, renderTable } from './table.ts';

describe('tables', () => {
  it('have no borders, and numbers to the right', () => {
    const table = renderTable(
      ['TOPIC', 'END', 'MEMBER'],
      [
        ['orders', 9_007_199_254_740_993n, null],
        ['p', null, 'm-1'],
      ],
    );
    expect(table).toBe(
      [
        'TOPIC                END  MEMBER',
        'orders  9007199254740993  -',
        'p                      -  m-1',
      ].join('\n'),
    );
    expect(renderTable(['A', 'B'], [])).toBe('A  B');
  });

  it('show names and values below each other', () => {
    expect(
      renderFields([
        ['id', 'x'],
        ['partitions', 3],
        ['controller', null],
      ]),
    ).toBe('id          x\npartitions  3\ncontroller  -');
    expect(counted(1, 'record')).toBe('1 record');
    expect(counted(2n, 'record')).toBe('2 records');
  });
});
