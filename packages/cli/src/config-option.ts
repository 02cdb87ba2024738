import { InvalidArgumentError } from 'commander';

/** Gathers `--config key=value` options; a key that comes twice has its last value. */
export function collectConfig(
  text: string,
  gathered: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const at = text.indexOf('=');
  if (at <= 0) {
    throw new InvalidArgumentError(`'${text}' is not key=value, such as num.partitions=3.`);
  }
  return { ...gathered, [text.slice(0, at).trim()]: text.slice(at + 1).trim() };
}

export function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError(`'${text}' is not a port from 0 (a free one) to 65535.`);
}
