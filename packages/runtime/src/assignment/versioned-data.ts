import { Reader } from '@millrace/protocol';
import { AssignmentVersionError } from '../errors.ts';
import { USER_DATA_MAX_BYTES } from '../limits.ts';

/** Our user data begins with these, so that another application's data is refused, not misread. */
export const USER_DATA_MAGIC = 0x4d72;

/**
 * Header of all user data: magic, the writer's version, and the oldest version that can still read it.
 * A reader takes what it knows and leaves what follows, so members of two versions can share a group
 * during an upgrade; where that is not possible, the writer says so and the reader refuses by name.
 */
export function openUserData(
  data: Buffer,
  what: string,
  ownVersion: number,
): { readonly reader: Reader; readonly version: number } {
  if (data.length > USER_DATA_MAX_BYTES) {
    throw new AssignmentVersionError(
      `${what} has ${String(data.length)} bytes; at most ${String(USER_DATA_MAX_BYTES)} are read`,
    );
  }
  if (data.length < 6 || data.readUInt16BE(0) !== USER_DATA_MAGIC) {
    throw new AssignmentVersionError(
      `${what} was not written by this library: every member of the group must run the same application`,
    );
  }
  const version = data.readInt16BE(2);
  const readableFrom = data.readInt16BE(4);
  if (readableFrom > ownVersion) {
    throw new AssignmentVersionError(
      `${what} has version ${String(version)} and needs at least version ${String(readableFrom)}; ` +
        `this member reads up to ${String(ownVersion)}. Upgrade this member, or finish the upgrade in two steps`,
      { context: { version, readableFrom, ownVersion } },
    );
  }
  return { reader: new Reader(data, 6), version };
}
