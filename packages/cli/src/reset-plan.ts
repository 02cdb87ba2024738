import {
  describeLocalState,
  topicPartitionKey,
  type ClusterAdmin,
  type ClusterTopic,
  type GroupMemberDescription,
  type LocalState,
  type TopicPartition,
} from '@millrace/runtime/cluster';
import { CommandError } from './errors.ts';
import { lookForGroup, stateOf, unknownGroup, type FoundGroup } from './find-group.ts';
import { findTopics } from './find-topic.ts';
import {
  findInternalTopics,
  internalTopicKind,
  type InternalTopic,
  type InternalTopics,
} from './internal-topics.ts';
import { NAMES_LISTED } from './limits.ts';
import { didYouMean } from './nearest.ts';
import {
  planOffsets,
  type CommittedOffsets,
  type PlannedOffset,
  type PlanTarget,
} from './offset-plan.ts';
import { partitionsOf } from './partition-list.ts';
import { counted } from './table.ts';

/** What is to be reset of an application. */
export interface ResetRequest {
  readonly applicationId: string;
  /** Null: all that the group has committed offsets of, but the internal ones. */
  readonly inputTopics: readonly string[] | null;
  readonly target: PlanTarget;
  /** Null: all that are found. */
  readonly internalTopics: readonly string[] | null;
  readonly stateDir: string | null;
  readonly isForced: boolean;
}

/** All that a reset does, in this order. */
export interface ResetPlan {
  readonly applicationId: string;
  readonly membersToRemove: readonly GroupMemberDescription[];
  readonly offsets: readonly PlannedOffset[];
  readonly topicsToDelete: readonly InternalTopic[];
  /** Null: there is none, or it was not asked for. */
  readonly localState: LocalState | null;
  /** What stays though it might not be meant to: a sentence each. */
  readonly remarks: readonly string[];
}

/** Changes nothing. @throws CommandError for whatever would not be right to do */
export async function planReset(cluster: ClusterAdmin, request: ResetRequest): Promise<ResetPlan> {
  const { applicationId, stateDir } = request;
  const group = await lookForGroup(cluster, applicationId);
  const internal = await findInternalTopics(cluster, applicationId);
  const localState =
    stateDir === null ? null : await describeLocalState({ stateDir, applicationId });
  if (group === null && internal.own.length === 0 && localState === null) {
    throw await unknownGroup(cluster, applicationId);
  }
  const membersToRemove = membersOf(applicationId, group, request.isForced);
  if (localState !== null) refuseLocalState(localState);
  const committed: CommittedOffsets =
    group === null ? new Map() : await cluster.groups.offsets(applicationId);
  const inputs = await inputTopicsOf(cluster, request, committed);
  const inputNames = new Set(inputs.map(({ topic }) => topic));
  const topicsToDelete = topicsOf(request, internal, inputNames);
  const partitions = inputs.flatMap((topic) =>
    partitionsOf(topic, undefined).map((partition) => ({ topic: topic.topic, partition })),
  );
  refuseUnplanned(request.target, partitions);
  // State, and with it the partitions' time that the metadata holds, begins anew.
  const offsets = (await planOffsets(cluster, request.target, partitions, committed)).map(
    (each) => ({ ...each, metadata: '' }),
  );
  const plan = {
    applicationId,
    membersToRemove,
    offsets,
    topicsToDelete,
    localState,
    remarks: remarksOf(request, internal, committed, inputNames, topicsToDelete),
  };
  await refusePending(cluster, plan, committed);
  return plan;
}

/** @throws CommandError `GROUP_ACTIVE`: members would not see what is done, and undo it */
function membersOf(
  applicationId: string,
  group: FoundGroup | null,
  isForced: boolean,
): readonly GroupMemberDescription[] {
  const state = group === null ? 'Dead' : stateOf(group);
  if (group === null || state === 'Empty' || state === 'Dead') return [];
  const { description, listing } = group;
  if (description === null) {
    throw new CommandError(
      'GROUP_ACTIVE',
      `Application ${applicationId} is ${state}: stop all of its instances first. ` +
        `--force cannot remove members of a group of type ${String(listing.type)}.`,
    );
  }
  if (isForced) return description.members;
  throw activeApplication(applicationId, state, description.members);
}

export function activeApplication(
  applicationId: string,
  state: string,
  members: readonly GroupMemberDescription[],
): CommandError {
  const shown = members
    .slice(0, NAMES_LISTED)
    .map(({ clientId, clientHost }) => `${clientId} on ${clientHost}`);
  const rest = members.length > NAMES_LISTED ? ', ...' : '';
  const who =
    members.length === 0
      ? ''
      : `, with ${counted(members.length, 'member')} (${shown.join(', ')}${rest})`;
  return new CommandError(
    'GROUP_ACTIVE',
    `Application ${applicationId} is ${state}${who}: stop all of its instances, then reset it. ` +
      'Members that have died are gone once their session has ended; --force removes them at once.',
  );
}

function refuseLocalState({ directory, holder, isOurs }: LocalState): void {
  if (holder !== null) {
    throw new CommandError(
      'STATE_DIR_LOCKED',
      `${directory} is in use by ${holder}: stop it first, or leave out --state-dir.`,
    );
  }
  if (isOurs) return;
  throw new CommandError(
    'COMMAND_REFUSED',
    `${directory} was not written by Millrace: it is not removed. Leave out --state-dir, and let the application that it belongs to clean it up.`,
  );
}

async function inputTopicsOf(
  cluster: ClusterAdmin,
  { applicationId, inputTopics }: ResetRequest,
  committed: CommittedOffsets,
): Promise<ClusterTopic[]> {
  if (inputTopics !== null) return findTopics(cluster, [...new Set(inputTopics)]);
  const names = new Set([...committed.values()].map(({ topic }) => topic));
  const found = await cluster.topics.describe(
    [...names].filter((topic) => internalTopicKind(applicationId, topic) === null),
  );
  return [...found.values()];
}

/** As Kafka's tool: what is named an input is none, whatever its name looks like (KAFKA-7930). */
function topicsOf(
  { applicationId, internalTopics }: ResetRequest,
  { own, doubtful }: InternalTopics,
  inputNames: ReadonlySet<string>,
): readonly InternalTopic[] {
  const certain = own.filter(({ topic }) => !inputNames.has(topic.topic));
  if (internalTopics === null) return certain;
  const known = new Map([
    ...certain.map((each) => [each.topic.topic, each] as const),
    ...[...doubtful].map(([name, { topic }]) => [name, topic] as const),
  ]);
  const unknown = internalTopics.filter((name) => !known.has(name));
  if (unknown.length === 0) {
    return [...new Set(internalTopics)].map((name) => known.get(name) as InternalTopic);
  }
  const lines = unknown.map((name) => {
    const why = inputNames.has(name)
      ? 'is named as an input topic, too.'
      : internalTopicKind(applicationId, name) === null
        ? `is not named like an internal topic of ${applicationId}.`
        : 'does not exist.';
    return `Topic ${name} ${why}${didYouMean(name, known.keys())}`;
  });
  throw new CommandError('COMMAND_REFUSED', lines.join('\n'));
}

/** @throws CommandError that names each partition without an offset, and each offset of no partition */
function refuseUnplanned(target: PlanTarget, partitions: readonly TopicPartition[]): void {
  if (target.kind !== 'each') return;
  const keys = new Set(
    partitions.map(({ topic, partition }) => topicPartitionKey(topic, partition)),
  );
  const missing = [...keys].filter((key) => !target.offsets.has(key));
  const extra = [...target.offsets.keys()].filter((key) => !keys.has(key));
  const lines = [
    ...(missing.length === 0 ? [] : [`The file has no offset for ${missing.join(', ')}.`]),
    ...(extra.length === 0 ? [] : [`The file names what is no input: ${extra.join(', ')}.`]),
  ];
  if (lines.length > 0) throw new CommandError('COMMAND_REFUSED', lines.join('\n'));
}

function remarksOf(
  { applicationId, internalTopics }: ResetRequest,
  { own, doubtful }: InternalTopics,
  committed: CommittedOffsets,
  inputNames: ReadonlySet<string>,
  topicsToDelete: readonly InternalTopic[],
): string[] {
  const deleted = new Set(topicsToDelete.map(({ topic }) => topic.topic));
  const kept = new Set([...committed.values()].map(({ topic }) => topic));
  for (const topic of [...inputNames, ...deleted]) kept.delete(topic);
  const remarks: string[] = [];
  if (kept.size > 0) {
    remarks.push(`Committed offsets of ${[...kept].sort().join(', ')} stay as they are.`);
  }
  for (const [topic, { groupId }] of doubtful) {
    if (deleted.has(topic)) continue;
    remarks.push(
      `Topic ${topic} stays: it seems to be of ${groupId}. --internal-topics deletes it all the same.`,
    );
  }
  if (internalTopics !== null) {
    const left = own.filter(
      ({ topic: { topic } }) => !deleted.has(topic) && !inputNames.has(topic),
    );
    if (left.length > 0) {
      const names = left.map(({ topic }) => topic.topic).join(', ');
      remarks.push(`Internal topics of ${applicationId} that stay: ${names}.`);
    }
  }
  return remarks;
}

/**
 * A transaction that is still open would commit its offsets over those of the reset.
 *
 * @throws CommandError `OFFSETS_PENDING`
 */
export async function refusePending(
  cluster: ClusterAdmin,
  {
    applicationId,
    offsets,
    topicsToDelete,
  }: Pick<ResetPlan, 'applicationId' | 'offsets' | 'topicsToDelete'>,
  committed: CommittedOffsets,
): Promise<void> {
  const partitions = new Map<string, TopicPartition>();
  const add = (topic: string, partition: number): void => {
    partitions.set(topicPartitionKey(topic, partition), { topic, partition });
  };
  for (const { topic, partition } of [...committed.values(), ...offsets]) add(topic, partition);
  for (const { topic } of topicsToDelete) {
    for (const { partition } of topic.partitions) add(topic.topic, partition);
  }
  const pending = await cluster.groups.pendingOffsets(applicationId, [...partitions.values()]);
  if (pending.length === 0) return;
  const names = pending.map(({ topic, partition }) => topicPartitionKey(topic, partition));
  throw new CommandError(
    'OFFSETS_PENDING',
    `A transaction of ${applicationId} is still open, with offsets of ${names.join(', ')}. ` +
      "It ends when it has been open for the producer's transaction.timeout.ms (10 s by default for an application): try again then.",
  );
}
