import { expect, it } from 'vitest';
import { DirtyKeys } from './dirty-keys.ts';

// Written by Java 17: a HashSet of Kafka's Bytes that is filled, walked and cleared three times.
const rounds = [
  {
    added:
      '9805fa8f85 f0c6 8aefa5 a69a323a73 84 1db705 cc6f 1355 a7df 48ac b6 d2b6950a f64e68 f232 6743e48a 51d5a5 f2ff64 8cdb 875cfa12 f2c21e 855c02 8c 5fcfdc1d 5d0f1352a7 4b00 8ab10d415d fcab27 04 a31f 94 7ee0 34 3a 39 574f 84 32c6045e 27 3f0a018a31 bc2b',
    walked:
      '8aefa5 f232 d2b6950a a69a323a73 27 94 32c6045e 3f0a018a31 bc2b 34 8c f2ff64 875cfa12 4b00 f0c6 39 3a 574f cc6f 84 6743e48a 9805fa8f85 51d5a5 a31f 1355 04 7ee0 48ac a7df 1db705 b6 5fcfdc1d f2c21e f64e68 8cdb 5d0f1352a7 8ab10d415d 855c02 fcab27',
  },
  {
    added: 'dd85d4 e9 69e2 232746 1784 fcf3ec8e67 39725e',
    walked: '232746 39725e e9 1784 dd85d4 69e2 fcf3ec8e67',
  },
  {
    added: '5499c1bb41 123d9b8eeb 0654 d7cb2d0a 2dfa8e69 0143 a7c6ab4ad8',
    walked: '123d9b8eeb 5499c1bb41 a7c6ab4ad8 0654 0143 d7cb2d0a 2dfa8e69',
  },
];

it('gives keys in the order of the hash set that Kafka Streams keeps them in', () => {
  const dirty = new DirtyKeys();
  for (const { added, walked } of rounds) {
    for (const hex of added.split(' ')) dirty.add(Buffer.from(hex, 'hex').toString('latin1'));
    const order: string[] = [];
    dirty.drain((key) => order.push(Buffer.from(key, 'latin1').toString('hex')));
    expect(order.join(' ')).toBe(walked);
    expect(dirty.size).toBe(0);
  }
});

it('keeps the keys if they could not be written', () => {
  const dirty = new DirtyKeys();
  dirty.add('a');
  expect(() => {
    dirty.drain(() => {
      throw new Error('no room');
    });
  }).toThrow('no room');
  expect(dirty.size).toBe(1);
});
