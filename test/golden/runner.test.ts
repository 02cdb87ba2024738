import { describe, expect, it } from 'vitest';
import type { GoldenCase, Json, Operation } from './case.ts';
import { judge } from './judge.ts';
import { laterOperators } from './later-operators.ts';

const streams: Operation[] = [
  { op: 'stream', id: 'a', topics: ['a'] },
  { op: 'split', id: 'b', of: 'a', branches: [{ pred: true }] },
  { op: 'table', id: 't', topic: 't' },
  { op: 'globalTable', id: 'g', topic: 'g' },
  { op: 'groupByKey', id: 'group', of: 'a' },
];

function later(...operations: Operation[]): string[] {
  const topology = [...streams, ...operations];
  return [...laterOperators({ name: 'case', topology, expected: [] })];
}

describe('what may be skipped', () => {
  it.each<[string, Operation]>([
    ['stream-stream join', { op: 'outerJoin', of: 'b.0', with: 'a' }],
    ['foreign-key join', { op: 'leftJoin', of: 't', with: 't', foreignKey: '$v' }],
    ['session windows', { op: 'windowedBy', of: 'group', window: { type: 'session' } }],
    ['sliding windows', { op: 'windowedBy', of: 'group', window: { type: 'sliding' } }],
    ['unlimited windows', { op: 'windowedBy', of: 'group', window: { type: 'unlimited' } }],
    ['cogroup', { op: 'cogroup', of: 'group' }],
    [
      'emit on window close',
      { op: 'windowedBy', of: 'group', window: { type: 'time' }, emit: 'onWindowClose' },
    ],
  ])('%s', (name, operation) => {
    expect(later(operation)).toEqual([name]);
  });

  it('is nothing that only looks like it', () => {
    expect(
      later(
        { op: 'toTable', id: 'made', of: 'b.0' },
        { op: 'join', id: 'j', of: 'b.default', with: 'made' },
        { op: 'leftJoin', of: 'j', with: 'g' },
        { op: 'outerJoin', of: 't', with: 'made' },
        { op: 'windowedBy', id: 'w', of: 'group', window: { type: 'time', advanceMs: 1 } },
        { op: 'count', id: 'c', of: 'w' },
        { op: 'suppress', of: 'c' },
      ),
    ).toEqual([]);
  });
});

const counting = {
  name: 'counting',
  topology: [
    { op: 'stream', id: 's', topics: ['in'] },
    { op: 'peek', id: 'p', of: 's' },
    { op: 'groupByKey', id: 'g', of: 'p' },
    { op: 'count', id: 'c', of: 'g', store: 'n' },
    { op: 'toStream', id: 'o', of: 'c' },
    { op: 'to', of: 'o', topic: 'out', valueSerde: 'long' },
  ],
  inputs: [
    { topic: 'in', key: 'k', value: 'v', timestamp: 7 },
    { topic: 'in', key: null, value: 'v', timestamp: 8 },
  ],
  expected: [
    {
      describe: [
        'Topologies:',
        '   Sub-topology: 0',
        '    Source: KSTREAM-SOURCE-0000000000 (topics: [in])',
        '      --> p',
        '    Processor: p (stores: [])',
        '      --> KSTREAM-AGGREGATE-0000000002',
        '      <-- KSTREAM-SOURCE-0000000000',
        '    Processor: KSTREAM-AGGREGATE-0000000002 (stores: [n])',
        '      --> KTABLE-TOSTREAM-0000000003',
        '      <-- p',
        '    Processor: KTABLE-TOSTREAM-0000000003 (stores: [])',
        '      --> KSTREAM-SINK-0000000004',
        '      <-- KSTREAM-AGGREGATE-0000000002',
        '    Sink: KSTREAM-SINK-0000000004 (topic: out)',
        '      <-- KTABLE-TOSTREAM-0000000003',
        '',
        '',
      ].map((line) => line.replaceAll(/\bp\b(?!s)/g, 'KSTREAM-PEEK-0000000001')),
      steps: [
        {
          notes: [['p', 'k=v']],
          outputs: [
            {
              topic: 'golden-n-changelog',
              keyHex: '6b',
              valueHex: '0000000000000001',
              timestamp: 7,
            },
            { topic: 'out', key: 'k', value: 1, valueHex: '0000000000000001', timestamp: 7 },
          ],
        },
        { notes: [['p', 'null=v']], outputs: [] },
      ],
      stores: { n: { kind: 'keyValue', entries: [{ key: 'k', value: 1, timestamp: 7 }] } },
      dropped: 1,
      streamTime: 8,
    },
  ],
};

/** The case with one thing expected otherwise. */
function altered(path: readonly (string | number)[], value: Json): GoldenCase {
  const copy = structuredClone(counting) as unknown as Record<string | number, unknown>;
  let at: Record<string | number, unknown> =
    (copy['expected'] as Record<string, unknown>[])[0] ?? {};
  for (const step of path.slice(0, -1)) at = at[step] as Record<string | number, unknown>;
  at[path.at(-1) as string | number] = value;
  return copy as unknown as GoldenCase;
}

describe('the judge', () => {
  it('lets pass what is as expected', async () => {
    expect(await judge(counting as unknown as GoldenCase)).toEqual({ kind: 'passed' });
  });

  it.each<[string, readonly (string | number)[], Json]>([
    ['describe', ['describe', 2], '    Source: other (topics: [in])'],
    ['branches', ['branches'], { s: ['s-0'] }],
    ['step 0', ['steps', 0, 'outputs', 1, 'timestamp'], 8],
    ['step 0', ['steps', 0, 'outputs', 1, 'headers'], [['h', 'x']]],
    ['step 0', ['steps', 0, 'outputs', 0, 'valueHex'], '0000000000000002'],
    ['step 1', ['steps', 1, 'notes', 0, 1], 'k=v'],
    ['store n', ['stores', 'n', 'entries', 0, 'timestamp'], 8],
    ['store m', ['stores', 'm'], { kind: 'other' }],
    ['dropped', ['dropped'], 0],
    ['streamTime', ['streamTime'], 7],
    [
      'to fail in step 1',
      ['error'],
      { phase: 'step', step: 1, chain: [['a.StreamsException', '']] },
    ],
  ])('sees that %s differs', async (what, path, value) => {
    const verdict = await judge(altered(path, value));
    expect(verdict.kind).toBe('failed');
    if (verdict.kind === 'failed') expect(verdict.difference.startsWith(what)).toBe(true);
  });

  it('says which operators a case is skipped for', async () => {
    const golden = { name: 'later', topology: [...streams, { op: 'cogroup' }], expected: [] };
    expect(await judge(golden)).toEqual({ kind: 'skipped', operators: new Set(['cogroup']) });
  });
});
