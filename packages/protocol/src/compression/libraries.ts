import { createRequire } from 'node:module';
import type * as Lz4 from 'lz4-napi';
import type * as Snappy from 'snappy';
import type * as Zstd from '@toondepauw/node-zstd';

/*
 * Loaded when first used: each takes 2 to 6 MiB of memory, and most applications use one codec or none.
 */
const require = createRequire(import.meta.url);
let lz4: typeof Lz4 | null = null;
let snappy: typeof Snappy | null = null;
let zstd: typeof Zstd | null = null;

export function lz4Library(): typeof Lz4 {
  return (lz4 ??= require('lz4-napi') as typeof Lz4);
}

export function snappyLibrary(): typeof Snappy {
  return (snappy ??= require('snappy') as typeof Snappy);
}

export function zstdLibrary(): typeof Zstd {
  return (zstd ??= require('@toondepauw/node-zstd') as typeof Zstd);
}
