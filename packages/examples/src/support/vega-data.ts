import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const require = createRequire(import.meta.url);

/** Path of a data file that the npm package vega-datasets ships. */
export function vegaDataFile(name: string): string {
  const entry = require.resolve('vega-datasets');
  return join(dirname(entry), '..', 'data', name);
}
