import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** Path of a data file that the npm package vega-datasets ships. */
export function vegaDataFile(name: string): string {
  const entry = createRequire(import.meta.url).resolve('vega-datasets');
  return join(dirname(entry), '..', 'data', name);
}
