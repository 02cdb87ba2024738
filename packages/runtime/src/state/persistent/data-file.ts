import { readFileStart, fileSize } from '../../platform/directories.ts';

/** The two meta pages at the start of LMDB's file say what the rest is; the newer one counts. */
const META_PAGES = 2;
/** Of LMDB's page header; the rest of a meta page follows. */
const PAGE_HEADER_BYTES = 24;
const MAGIC = 0xbe_ef_c0_de;
const MAGIC_AT = PAGE_HEADER_BYTES;
const PAGE_SIZE_AT = MAGIC_AT + 24;
const LAST_PAGE_AT = PAGE_SIZE_AT + 96;
const TRANSACTION_AT = LAST_PAGE_AT + 8;
const META_BYTES = TRANSACTION_AT + 8;
const PAGE_SIZE_MIN_BYTES = 256;
const PAGE_SIZE_MAX_BYTES = 65_536;

/**
 * What is wrong with LMDB's file; null if nothing is, or there is none yet. LMDB itself would end the
 * process over a foreign or a short file: it reads what it has mapped without a look at its length.
 */
export function damageOf(dataFile: string): string | null {
  const bytes = fileSize(dataFile);
  if (bytes === 0) return null;
  const head = readFileStart(dataFile, PAGE_SIZE_MAX_BYTES + META_BYTES);
  const pageBytes = head.length < META_BYTES ? 0 : head.readUInt32LE(PAGE_SIZE_AT);
  const isPower = (pageBytes & (pageBytes - 1)) === 0;
  if (!isPower || pageBytes < PAGE_SIZE_MIN_BYTES || pageBytes > PAGE_SIZE_MAX_BYTES) {
    return 'it is not a file of LMDB';
  }
  if (head.length < pageBytes + META_BYTES) return 'it is cut off';
  let lastPage = 0n;
  let newest = -1n;
  for (let page = 0; page < META_PAGES; page++) {
    const at = page * pageBytes;
    if (head.readUInt32LE(at + MAGIC_AT) !== MAGIC) return 'it is not a file of LMDB';
    const transaction = head.readBigUInt64LE(at + TRANSACTION_AT);
    if (transaction <= newest) continue;
    newest = transaction;
    lastPage = head.readBigUInt64LE(at + LAST_PAGE_AT);
  }
  const expected = (lastPage + 1n) * BigInt(pageBytes);
  if (BigInt(bytes) >= expected) return null;
  return `it is cut off: ${String(bytes)} bytes of ${expected.toString()}`;
}
