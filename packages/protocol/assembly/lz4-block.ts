/**
 * lz4's block format, in AssemblyScript: `node scripts/assembly.mjs` makes WebAssembly of it. Positions
 * are addresses in the module's own memory, which the caller lays out: a block may be read up to 16
 * bytes beyond its end, and what is written may go 32 bytes beyond it, because whole words are
 * moved. The bounds of the block itself are checked on every sequence.
 */

/** Positions that have been seen, two bytes each, by the hash of the bytes there. */
const TABLE: usize = 0;
const HASH_BITS: u64 = 13;
const TABLE_BYTES: usize = 1 << (<usize>HASH_BITS + 1);
/**
 * Five bytes are hashed, because the longer matches that this finds take less room and time, but four where
 * there are few matches to choose from. With five, the search goes on one byte behind a match: whether the
 * next one begins at once is what a processor guesses worst, and one that does is found a byte
 * later and extended to the front.
 */
const FIVE_BYTES: u64 = 889523592379 << 24;
const FOUR_BYTES: u64 = 889523592379 << 32;
const FEW_BYTES: usize = 16384;
type Few = u32;
type Many = u64;

const MIN_MATCH: u32 = 4;
/** A length of four bits that goes on in further bytes. */
const LONG: u32 = 15;
/** The format's: a block ends with five literals at least, and no match starts in its last twelve bytes. */
const LAST_LITERALS: usize = 5;
const LAST_START: usize = 12;
/** Every 2^6 positions in vain make the steps one byte longer. */
const PATIENCE_BITS: u32 = 6;

const DAMAGED: i32 = -1;

/** Decodes [source, end) to `target`, to at most `limit`; bytes that it yields, or DAMAGED. */
export function decode(source: usize, end: usize, target: usize, limit: usize): i32 {
  let ip = source;
  let op = target;
  // Up to here a short sequence neither ends the block nor goes beyond the limit.
  const fastIn = end > source + 32 ? end - 32 : source;
  const fastOut = limit > target + 64 ? limit - 64 : target;
  while (true) {
    while (ip < fastIn && op < fastOut) {
      const token = <u32>load<u8>(ip);
      const literals = <usize>(token >>> 4);
      const length = <usize>(token & 15);
      const at = op + literals;
      const offset = <usize>load<u16>(ip + 1 + literals);
      if (literals == LONG || length == LONG || offset < 16 || offset > at - target) break;
      const from = at - offset;
      v128.store(op, v128.load(ip + 1));
      v128.store(at, v128.load(from));
      store<u16>(at + 16, load<u16>(from + 16));
      ip += literals + 3;
      op = at + length + MIN_MATCH;
    }

    if (ip >= end) return DAMAGED;
    const token = <u32>load<u8>(ip++);
    let literals = token >>> 4;
    if (literals == LONG) {
      let more: u32;
      do {
        if (ip >= end) return DAMAGED;
        more = load<u8>(ip++);
        literals += more;
      } while (more == 255);
    }
    if (literals > <u32>(end - ip) || literals > <u32>(limit - op)) return DAMAGED;
    memory.copy(op, ip, literals);
    ip += literals;
    op += literals;
    if (ip == end) return <i32>(op - target);

    if (end - ip < 2) return DAMAGED;
    const offset = <u32>load<u16>(ip);
    ip += 2;
    let length = token & 15;
    if (length == LONG) {
      let more: u32;
      do {
        if (ip >= end) return DAMAGED;
        more = load<u8>(ip++);
        length += more;
      } while (more == 255);
    }
    length += MIN_MATCH;
    if (offset == 0 || offset > <u32>(op - target) || length > <u32>(limit - op)) return DAMAGED;
    let from = op - offset;
    const after = op + length;
    // What is copied may be part of the copy: no step is longer than the offset.
    if (offset >= 16) {
      for (; op < after; op += 16, from += 16) v128.store(op, v128.load(from));
    } else if (offset >= 8) {
      for (; op < after; op += 8, from += 8) store<u64>(op, load<u64>(from));
    } else {
      for (; op < after; op++, from++) store<u8>(op, load<u8>(from));
    }
    op = after;
  }
  return DAMAGED;
}

/** Encodes [source, end), at most 64 KiB, to `target`; bytes that it takes. */
export function encode(source: usize, end: usize, target: usize): i32 {
  return end - source < FEW_BYTES
    ? encodeBlock<Few>(source, end, target)
    : encodeBlock<Many>(source, end, target);
}

/** Compiled twice, so that in either what is different is a constant: a tenth faster. */
function encodeBlock<Kind>(source: usize, end: usize, target: usize): i32 {
  const isSmall = sizeof<Kind>() == sizeof<Few>();
  let op = target;
  let anchor = source;
  if (end - source > LAST_START) {
    memory.fill(TABLE, 0, TABLE_BYTES);
    const factor = isSmall ? FOUR_BYTES : FIVE_BYTES;
    const lastStart = end - LAST_START;
    const lastMatched = end - LAST_LITERALS;
    let ip = source + 1;
    let attempts: u32 = 1 << PATIENCE_BITS;
    while (ip <= lastStart) {
      const eight = load<u64>(ip);
      const slot = slotOf(eight, factor);
      let from = source + <usize>load<u16>(slot);
      store<u16>(slot, <u32>(ip - source));
      if (load<u32>(from) != <u32>eight) {
        ip += attempts++ >>> PATIENCE_BITS;
        continue;
      }
      attempts = 1 << PATIENCE_BITS;
      while (ip > anchor && from > source && load<u8>(ip - 1) == load<u8>(from - 1)) {
        ip--;
        from--;
      }
      const matchEnd = endOfMatch(ip + MIN_MATCH, from + MIN_MATCH, lastMatched);
      const literals = <u32>(ip - anchor);
      const length = <u32>(matchEnd - ip) - MIN_MATCH;
      store<u8>(op++, (min(literals, LONG) << 4) | min(length, LONG));
      if (literals >= LONG) {
        op = putLength(op, literals - LONG);
        memory.copy(op, anchor, literals);
      } else {
        v128.store(op, v128.load(anchor));
      }
      op += literals;
      store<u16>(op, <u32>(ip - from));
      op += 2;
      if (length >= LONG) op = putLength(op, length - LONG);
      ip = isSmall ? matchEnd : matchEnd + 1;
      anchor = matchEnd;
      if (isSmall && ip <= lastStart) {
        store<u16>(slotOf(load<u64>(ip - 2), factor), <u32>(ip - 2 - source));
      }
    }
  }
  const literals = <u32>(end - anchor);
  store<u8>(op++, min(literals, LONG) << 4);
  if (literals >= LONG) op = putLength(op, literals - LONG);
  memory.copy(op, anchor, literals);
  return <i32>(op + literals - target);
}

function slotOf(eight: u64, factor: u64): usize {
  const hash = (eight * factor) >>> (64 - HASH_BITS);
  return TABLE + ((<usize>hash) << 1);
}

/** Up to where the bytes from `at` and from `from` are the same, `end` at most. */
function endOfMatch(at: usize, from: usize, end: usize): usize {
  while (at + 8 <= end) {
    const differing = load<u64>(at) ^ load<u64>(from);
    if (differing != 0) return at + ((<usize>ctz(differing)) >>> 3);
    at += 8;
    from += 8;
  }
  while (at < end && load<u8>(at) == load<u8>(from)) {
    at++;
    from++;
  }
  return at;
}

function putLength(op: usize, length: u32): usize {
  while (length >= 255) {
    store<u8>(op++, 255);
    length -= 255;
  }
  store<u8>(op++, length);
  return op;
}
