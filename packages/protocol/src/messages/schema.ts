import type { Codec } from './codec.ts';
import { compileStruct } from './compile.ts';
import type { Decoded, Fields } from './field.ts';
import { includesVersion, parseVersions } from './version-range.ts';
import type { VersionRange, Versions } from './version-range.ts';

/** A message and its versions. Each version is compiled once, when it is first used. */
export class Schema<T> {
  readonly name: string;
  readonly versions: VersionRange;
  /** Versions with compact encodings and tagged fields (KIP-482). */
  readonly flexible: VersionRange;
  readonly fields: Fields;
  declare readonly inferred?: T;
  readonly #codecs: Codec[] = [];

  constructor(name: string, versions: VersionRange, flexible: VersionRange, fields: Fields) {
    this.name = name;
    this.versions = versions;
    this.flexible = flexible;
    this.fields = fields;
  }

  isFlexible(version: number): boolean {
    return includesVersion(this.flexible, version);
  }

  supports(version: number): boolean {
    return Number.isInteger(version) && includesVersion(this.versions, version);
  }

  /** The codec of a version that `supports()` has accepted. */
  codec(version: number): Codec {
    return (this.#codecs[version] ??= compileStruct(
      this.fields,
      version,
      this.isFlexible(version),
    ));
  }
}

/** A Kafka API: the request and response of one key. */
export interface Api<Req, Res> {
  readonly key: number;
  readonly name: string;
  readonly minVersion: number;
  readonly maxVersion: number;
  /** The first version with flexible headers and bodies; `Infinity` if none has. */
  readonly flexibleFrom: number;
  readonly request: Schema<Req>;
  readonly response: Schema<Res>;
}

export type RequestOf<A> = A extends Api<infer Req, unknown> ? Req : never;
export type ResponseOf<A> = A extends Api<unknown, infer Res> ? Res : never;
export type MessageOf<S> = S extends Schema<infer T> ? T : never;

export function api<Req extends Fields, Res extends Fields>(declaration: {
  readonly key: number;
  readonly name: string;
  readonly versions: Versions;
  readonly flexible: Versions;
  readonly request: Req;
  readonly response: Res;
}): Api<Decoded<Req>, Decoded<Res>> {
  const versions = parseVersions(declaration.versions);
  const flexible = parseVersions(declaration.flexible);
  return {
    key: declaration.key,
    name: declaration.name,
    minVersion: versions.min,
    maxVersion: versions.max,
    flexibleFrom: flexible.min,
    request: new Schema(`${declaration.name}Request`, versions, flexible, declaration.request),
    response: new Schema(`${declaration.name}Response`, versions, flexible, declaration.response),
  };
}

/** A message that is no request or response: the records of internal topics, embedded protocols. */
export function message<F extends Fields>(declaration: {
  readonly name: string;
  readonly versions: Versions;
  readonly flexible: Versions;
  readonly fields: F;
}): Schema<Decoded<F>> {
  const { name, versions, flexible, fields } = declaration;
  return new Schema(name, parseVersions(versions), parseVersions(flexible), fields);
}
