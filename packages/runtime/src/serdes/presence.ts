import type { RecordSerde } from './serde.ts';
import { recordSerde } from './record-serde.ts';

/** Reads that there is a value, and not which. */
export const presenceSerde: RecordSerde<unknown> = recordSerde<unknown>({
  name: 'presence',
  write: () => -1,
  read: () => true,
  isDetached: true,
});
