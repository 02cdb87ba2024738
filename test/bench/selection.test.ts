import { expect, it } from 'vitest';
import { selectRows } from './selection.ts';

const suites = new Map([
  ['producer', ['producer']],
  [
    'streams',
    ['map', 'count'].flatMap((name) =>
      ['memory', 'persistent'].flatMap((store) =>
        ['10k', '1m'].map((keys) => `streams/${name}/${store}/${keys}`),
      ),
    ),
  ],
  ['restore', ['restore/memory', 'restore/persistent']],
]);

function selected(...words: string[]): Record<string, readonly string[]> {
  return Object.fromEntries(selectRows(words, suites));
}

it('takes everything when nothing is named', () => {
  expect(selected()).toEqual(Object.fromEntries(suites));
});

it('takes a suite, alone or with the parts that are named after it', () => {
  expect(selected('restore')).toEqual({ restore: ['restore/memory', 'restore/persistent'] });
  expect(selected('streams', 'count', '1m', 'producer')).toEqual({
    producer: ['producer'],
    streams: ['streams/count/memory/1m', 'streams/count/persistent/1m'],
  });
  expect(selected('streams', 'map', 'count', 'memory', '10k')).toEqual({
    streams: ['streams/map/memory/10k', 'streams/count/memory/10k'],
  });
});

it('takes a row by its name, and several by the beginning of theirs', () => {
  expect(selected('restore/persistent', 'streams/map/mem')).toEqual({
    streams: ['streams/map/memory/10k', 'streams/map/memory/1m'],
    restore: ['restore/persistent'],
  });
});

it('takes a row once, in the order of its suite', () => {
  expect(selected('streams/count/memory', 'streams', 'memory', '10k')).toEqual({
    streams: ['streams/map/memory/10k', 'streams/count/memory/10k', 'streams/count/memory/1m'],
  });
});

it('says what there is when it knows no such name', () => {
  expect(() => selected('streams', 'widow')).toThrow(/no benchmark widow; there are:\nproducer\n/);
});
