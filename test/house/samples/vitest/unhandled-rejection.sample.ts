import { it } from 'vitest';

it('leaves a rejection unhandled', () => {
  void Promise.reject(new Error('nobody listens'));
});
