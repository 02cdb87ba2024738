import { pino } from 'pino';
import { it } from 'vitest';

it('logs a warning that nobody expects', () => {
  pino().warn('something is odd');
});
