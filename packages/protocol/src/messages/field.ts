import { parseVersions } from './version-range.ts';
import type { VersionRange, Versions } from './version-range.ts';

/** Wire types of a single value and what they are in TypeScript. */
interface ScalarTypes {
  int8: number;
  int16: number;
  int32: number;
  int64: bigint;
  bool: boolean;
  string: string;
  /** 22 characters of base64url, as Kafka prints a uuid. */
  uuid: string;
  bytes: Buffer;
  /** Record batches; a view of the frame after decoding. */
  records: Buffer;
}

export type ScalarName = keyof ScalarTypes;

/** What a field, or an element of an array, holds. */
export type FieldType =
  | { readonly kind: ScalarName }
  | { readonly kind: 'struct'; readonly fields: Fields }
  | { readonly kind: 'array'; readonly element: FieldType };

/** One declared field. `T` is its TypeScript type; only the compiler sees `inferred`. */
export interface Field<T> {
  readonly type: FieldType;
  /** Versions that carry the field. Elsewhere it has its default after decoding. */
  readonly versions: VersionRange;
  /** Versions in which it may be null on the wire. */
  readonly nullable: VersionRange;
  /** Undefined: zero, empty, or for a struct all its fields' defaults. */
  readonly defaultValue: number | bigint | boolean | string | null | undefined;
  /** Tag number, when the field lives in the tagged section (KIP-482). */
  readonly tag: number | null;
  /** Whether encoding for a version without the field silently drops a value that is not its default. */
  readonly ignorable: boolean;
  readonly inferred?: T;
}

/** Fields in wire order. */
export type Fields = Readonly<Record<string, Field<unknown>>>;

/** The decoded form of fields: every one is there, whatever the version. */
export type Decoded<F extends Fields> = {
  -readonly [K in keyof F]: F[K] extends Field<infer T> ? T : never;
};

/** What an encoder takes for a decoded type: any field may be left out and then has its default. */
export type Encodable<T> = unknown extends T
  ? unknown
  : T extends Buffer
    ? Uint8Array
    : T extends readonly (infer E)[]
      ? readonly Encodable<E>[]
      : T extends object
        ? { readonly [K in keyof T]?: Encodable<T[K]> | undefined }
        : T;

export interface FieldOptions<D> {
  readonly nullable?: Versions;
  readonly default?: D | null;
  readonly tag?: number;
  readonly ignorable?: boolean;
}

type WithNull<T, O> = O extends { readonly nullable: string } ? T | null : T;

function field<T>(
  type: FieldType,
  versions: Versions,
  options: FieldOptions<number | bigint | boolean | string> = {},
): Field<T> {
  return {
    type,
    versions: parseVersions(versions),
    nullable: parseVersions(options.nullable ?? 'none'),
    defaultValue: options.default,
    tag: options.tag ?? null,
    ignorable: options.ignorable ?? false,
  };
}

type ScalarBuilder<T, D> = <const O extends FieldOptions<D>>(
  versions: Versions,
  options?: O,
) => Field<WithNull<T, O>>;

function scalar<N extends ScalarName, D extends number | bigint | boolean | string>(
  kind: N,
): ScalarBuilder<ScalarTypes[N], D> {
  return (versions, options) => field({ kind }, versions, options);
}

export const int8: ScalarBuilder<number, number> = scalar('int8');
export const int16: ScalarBuilder<number, number> = scalar('int16');
export const int32: ScalarBuilder<number, number> = scalar('int32');
export const int64: ScalarBuilder<bigint, bigint> = scalar('int64');
export const bool: ScalarBuilder<boolean, boolean> = scalar('bool');
export const string: ScalarBuilder<string, string> = scalar('string');
export const uuid: ScalarBuilder<string, string> = scalar('uuid');
export const bytes: ScalarBuilder<Buffer, never> = scalar('bytes');
export const records: ScalarBuilder<Buffer, never> = scalar('records');

export function struct<F extends Fields, const O extends FieldOptions<never>>(
  versions: Versions,
  fields: F,
  options?: O,
): Field<WithNull<Decoded<F>, O>> {
  return field({ kind: 'struct', fields }, versions, options);
}

type ElementOf<E extends Fields | ScalarName> = E extends ScalarName
  ? ScalarTypes[E]
  : E extends Fields
    ? Decoded<E>
    : never;

/** An array of a scalar, given by its name, or of structs, given by their fields. */
export function array<E extends Fields | ScalarName, const O extends FieldOptions<never>>(
  versions: Versions,
  element: E,
  options?: O,
): Field<WithNull<ElementOf<E>[], O>> {
  const type: FieldType =
    typeof element === 'string' ? { kind: element } : { kind: 'struct', fields: element };
  return field({ kind: 'array', element: type }, versions, options);
}
