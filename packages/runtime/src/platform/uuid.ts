import type { Random } from './random.ts';

/** A version 4 UUID from the given randomness. */
export function uuidFrom(random: Random): string {
  const bytes = Buffer.alloc(16);
  for (let i = 0; i < bytes.length; i++) bytes[i] = Math.floor(random() * 256);
  bytes[6] = (bytes.readUInt8(6) & 0x0f) | 0x40;
  bytes[8] = (bytes.readUInt8(8) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
