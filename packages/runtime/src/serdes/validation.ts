import type { StandardSchemaV1 } from '@standard-schema/spec';
import { SHOWN_ISSUES_MAX } from '../limits.ts';
import { isPromise } from '../operators/outcome.ts';
import { composite } from './custom-serde.ts';
import { recordSerde } from './record-serde.ts';
import { isDetached, type RecordSerde, type Serde } from './serde.ts';
import { SerializationError } from './serialization-error.ts';

export interface SchemaOptions {
  /** Also ask the schema about what is written; default false. */
  readonly validateOnWrite?: boolean | undefined;
}

/** What the schema makes of `value`, or a SerializationError that names the problems. */
export function validate<O>(
  schema: StandardSchemaV1<unknown, O>,
  value: unknown,
  serde: string,
  action: 'read' | 'write',
): O {
  const standard = schema['~standard'];
  const result = standard.validate(value);
  if (isPromise(result)) {
    // Nobody waits for it; its failure must not count as unhandled.
    Promise.resolve(result).catch(() => undefined);
    throw new SerializationError(
      `The schema (${standard.vendor}) of the serde "${serde}" validates asynchronously, and a serde cannot wait. ` +
        'Use a schema without asynchronous checks here, and make those in a mapValues or filter.',
    );
  }
  if (result.issues === undefined) return result.value;
  const shown = result.issues.slice(0, SHOWN_ISSUES_MAX).map(issueText);
  const more = result.issues.length - shown.length;
  throw new SerializationError(
    `The serde "${serde}" ${action === 'read' ? 'read' : 'was to write'} what its schema (${standard.vendor}) refuses: ` +
      shown.join('; ') +
      (more > 0 ? `; and ${String(more)} more.` : '.'),
  );
}

function issueText({ message, path }: StandardSchemaV1.Issue): string {
  if (path === undefined || path.length === 0) return message;
  const keys = path.map((segment) => String(typeof segment === 'object' ? segment.key : segment));
  return `${keys.join('.')}: ${message}`;
}

/**
 * Another serde with a schema behind it: what that serde reads is put to the schema, and the type is
 * what comes out. For JSON, `serdes.json(schema)` does the same in one.
 */
export function validated<I, O extends I>(
  inner: RecordSerde<I>,
  schema: StandardSchemaV1<I, O>,
  options?: SchemaOptions,
): RecordSerde<O>;
export function validated<I, O extends I>(
  inner: Serde<I>,
  schema: StandardSchemaV1<I, O>,
  options?: SchemaOptions,
): Serde<O>;
export function validated<I, O extends I>(
  inner: Serde<I>,
  schema: StandardSchemaV1<I, O>,
  { validateOnWrite = false }: SchemaOptions = {},
): Serde<O> {
  const asked = schema as StandardSchemaV1<unknown, O>;
  return composite(inner, (bytes) => {
    const name = `validated(${bytes.name})`;
    return recordSerde<O>({
      name,
      isImmutable: bytes.isImmutable === true,
      isDetached: isDetached(bytes),
      ...(bytes.mapKey === undefined ? {} : { mapKey: bytes.mapKey.bind(bytes) }),
      ...(bytes.fixedBytes === undefined ? {} : { fixedBytes: bytes.fixedBytes }),
      write(value, target, position) {
        if (validateOnWrite) validate(asked, value, name, 'write');
        return bytes.write(value, target, position);
      },
      read: (source, start, end, headers) =>
        validate(asked, bytes.read(source, start, end, headers), name, 'read'),
    });
  });
}
