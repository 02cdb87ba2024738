import { DeserializationError } from '../../errors.ts';

/** A changelog record that cannot be applied to a buffer. */
export function changelogError(
  store: string,
  topic: string,
  partition: number,
  offset: bigint,
  cause: unknown,
): DeserializationError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new DeserializationError(
    `Buffer ${store} cannot be restored: the record of ${topic}-${String(partition)} at offset ${offset.toString()} ` +
      `is none that a buffer writes: ${why}. Something else wrote to this topic, or its bytes are damaged; ` +
      'reset the application, or delete that record.',
    { cause, context: { store, topic, partition, offset } },
  );
}
