/** Versions as Kafka's message definitions write them: `'3'`, `'2-7'`, `'9+'` or `'none'`. */
export type Versions = `${number}` | `${number}-${number}` | `${number}+` | 'none';

/** Both ends inclusive; `Infinity` as the upper end means that every later version has it too. */
export interface VersionRange {
  readonly min: number;
  readonly max: number;
}

const NO_VERSIONS: VersionRange = { min: Infinity, max: -Infinity };

export function parseVersions(text: Versions): VersionRange {
  if (text === 'none') return NO_VERSIONS;
  const match = /^(\d+)(?:(\+)|-(\d+))?$/.exec(text);
  if (match === null) throw new TypeError(`not a version range: '${text}'`);
  const min = Number(match[1]);
  const max = match[2] === undefined ? Number(match[3] ?? min) : Infinity;
  if (max < min) throw new TypeError(`version range '${text}' ends before it starts`);
  return { min, max };
}

export function includesVersion(range: VersionRange, version: number): boolean {
  return version >= range.min && version <= range.max;
}
