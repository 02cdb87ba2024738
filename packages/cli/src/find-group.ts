import type { ClusterAdmin, GroupDescription, GroupListing } from '@millrace/runtime/cluster';
import { CommandError } from './errors.ts';
import { NAMES_LISTED } from './limits.ts';
import { didYouMean } from './nearest.ts';

export interface FoundGroup {
  readonly listing: GroupListing;
  /** Null of a group that is not of the classic type: its members are told otherwise. */
  readonly description: GroupDescription | null;
}

/** Null if there is none. */
export async function lookForGroup(
  cluster: ClusterAdmin,
  groupId: string,
): Promise<FoundGroup | null> {
  const listing = (await cluster.groups.list()).find((group) => group.groupId === groupId);
  if (listing === undefined) return null;
  const isClassic = listing.type === null || listing.type === 'classic';
  const description = isClassic ? await cluster.groups.describe(groupId) : null;
  return { listing, description };
}

export function stateOf({ listing, description }: FoundGroup): string {
  return description?.state ?? listing.state ?? 'unknown';
}

/** `GROUP_UNKNOWN`, which names the nearest one. */
export async function unknownGroup(cluster: ClusterAdmin, groupId: string): Promise<CommandError> {
  const known = (await cluster.groups.list()).map((group) => group.groupId);
  const hint = didYouMean(groupId, known);
  const listed =
    known.length === 0
      ? ' There is none at all.'
      : known.length > NAMES_LISTED
        ? ' See `millrace groups list`.'
        : ` There are: ${known.join(', ')}.`;
  return new CommandError(
    'GROUP_UNKNOWN',
    `There is no group ${groupId}.${hint === '' ? listed : hint}`,
  );
}
