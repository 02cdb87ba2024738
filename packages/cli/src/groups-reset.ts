import {
  BrokerError,
  StreamsError,
  topicPartitionKey,
  type ClusterAdmin,
  type OffsetSpec,
  type TopicPartition,
} from '@millrace/runtime/cluster';
import { InvalidArgumentError, type Command } from 'commander';
import { addConnectionOptions, withCluster, type ConnectionOptions } from './connection.ts';
import { CommandError, invalidCommand } from './errors.ts';
import { lookForGroup, stateOf, unknownGroup } from './find-group.ts';
import { findTopics } from './find-topic.ts';
import { toJsonLine } from './json-lines.ts';
import { parsePartitions, partitionsOf } from './partition-list.ts';
import { resetOffset, type ResetTarget } from './reset-target.ts';
import { counted, renderTable } from './table.ts';
import type { Terminal } from './terminal.ts';
import { parseDuration, parseTimeMs } from './times.ts';

interface WantedTopic {
  readonly topic: string;
  readonly partitions: readonly number[] | undefined;
}

interface Options extends ConnectionOptions {
  readonly topic?: readonly WantedTopic[];
  readonly allTopics?: boolean;
  readonly toEarliest?: boolean;
  readonly toLatest?: boolean;
  readonly toOffset?: bigint;
  readonly toDatetime?: number;
  readonly shiftBy?: bigint;
  readonly byDuration?: number;
  readonly execute?: boolean;
  readonly dryRun?: boolean;
}

interface PlannedOffset extends TopicPartition {
  readonly committedOffset: bigint | null;
  readonly newOffset: bigint;
  readonly logStartOffset: bigint;
  readonly endOffset: bigint;
  readonly metadata: string;
}

const EXAMPLES = `
Give exactly one of the targets, and the topics. Without --execute the plan is only shown.
The group must have no members. Offsets outside of a log are moved to its begin or end.
This resets offsets alone: the state of a stream application stays as it is.

Examples:
  millrace groups reset billing --all-topics --to-earliest
  millrace groups reset billing --topic orders --topic payments:0,2 --to-datetime 2026-11-30T08:00
  millrace groups reset billing --topic orders --shift-by -100 --execute`;

/** `millrace groups reset` */
export function addGroupsResetCommand(groups: Command, terminal: Terminal): void {
  addConnectionOptions(
    groups
      .command('reset')
      .description("set a group's committed offsets; shows the plan unless --execute is given")
      .argument('<group>', 'its id')
      .option('--topic <topic[:partitions]>', 'this one; may be repeated', collectTopic)
      .option('--all-topics', 'all topics that the group has committed offsets of')
      .option('--to-earliest', 'to the begin of each log')
      .option('--to-latest', 'to the end of each log')
      .option('--to-offset <offset>', 'to this offset', parseOffset)
      .option('--to-datetime <time>', 'to the first record of then or later', parseDateTime)
      .option('--shift-by <count>', 'by so many offsets, back if negative', parseShift)
      .option(
        '--by-duration <duration>',
        'to the first record of so long ago or later',
        parseDuration,
      )
      .option('--dry-run', 'only show the plan: the default')
      .option('--execute', 'do it')
      .addHelpText('after', EXAMPLES),
  ).action(async (groupId: string, options: Options) => {
    const target = targetOf(options);
    if ((options.allTopics === true) === (options.topic !== undefined)) {
      throw invalidCommand('Give either --topic, once or more, or --all-topics.');
    }
    if (options.execute === true && options.dryRun === true) {
      throw invalidCommand('--execute and --dry-run contradict each other.');
    }
    await withCluster(options, terminal, ({ cluster }) =>
      reset(cluster, groupId, target, options, terminal),
    );
  });
}

function targetOf(options: Options): ResetTarget {
  const { toOffset, toDatetime, shiftBy, byDuration } = options;
  const targets: ResetTarget[] = [];
  if (options.toEarliest === true) targets.push({ kind: 'earliest' });
  if (options.toLatest === true) targets.push({ kind: 'latest' });
  if (toOffset !== undefined) targets.push({ kind: 'offset', offset: toOffset });
  if (toDatetime !== undefined) targets.push({ kind: 'time', timestampMs: toDatetime });
  if (shiftBy !== undefined) targets.push({ kind: 'shift', by: shiftBy });
  if (byDuration !== undefined) {
    targets.push({ kind: 'time', timestampMs: Math.max(0, Date.now() - byDuration) });
  }
  const [target] = targets;
  if (target !== undefined && targets.length === 1) return target;
  throw invalidCommand(
    'Give exactly one of --to-earliest, --to-latest, --to-offset, --to-datetime, --shift-by, --by-duration.',
  );
}

async function reset(
  cluster: ClusterAdmin,
  groupId: string,
  target: ResetTarget,
  options: Options,
  terminal: Terminal,
): Promise<void> {
  const found = await lookForGroup(cluster, groupId);
  if (found !== null) ensureInactive(groupId, stateOf(found));
  const isNew = found === null;
  if (isNew && (options.allTopics === true || target.kind === 'shift')) {
    throw await unknownGroup(cluster, groupId);
  }
  const plan = await makePlan(cluster, groupId, target, options, isNew);
  const isExecuted = options.execute === true;
  if (isExecuted) await execute(cluster, groupId, plan);
  if (options.json === true) {
    terminal.out(
      toJsonLine({
        group: groupId,
        isExecuted,
        partitions: plan.map(({ metadata: _, ...shown }) => shown),
      }),
    );
    return;
  }
  terminal.out(
    renderTable(
      ['TOPIC', 'PARTITION', isExecuted ? 'WAS' : 'IS', isExecuted ? 'IS' : 'WOULD BE', 'END'],
      plan.map((each) => [
        each.topic,
        each.partition,
        each.committedOffset,
        each.newOffset,
        each.endOffset,
      ]),
    ),
  );
  if (isNew) terminal.err(`There ${isExecuted ? 'was' : 'is'} no group ${groupId} before.`);
  if (!isExecuted) terminal.err('Nothing was changed: --execute does it.');
}

/** Members would not see the new offsets, and commit their own over them. */
function ensureInactive(groupId: string, state: string): void {
  if (state === 'Empty' || state === 'Dead') return;
  throw new CommandError(
    'GROUP_ACTIVE',
    `Group ${groupId} is ${state}: stop its members first, then reset it. ` +
      `\`millrace groups describe ${groupId}\` shows it.`,
  );
}

async function makePlan(
  cluster: ClusterAdmin,
  groupId: string,
  target: ResetTarget,
  options: Options,
  isNew: boolean,
): Promise<PlannedOffset[]> {
  const committed = isNew ? new Map<string, never>() : await cluster.groups.offsets(groupId);
  const partitions =
    options.allTopics === true
      ? [...committed.values()].map(({ topic, partition }) => ({ topic, partition }))
      : await wantedPartitions(cluster, options.topic ?? []);
  if (partitions.length === 0) {
    throw new CommandError(
      'COMMAND_REFUSED',
      `Group ${groupId} has committed no offsets to reset.`,
    );
  }
  const ask = (at: OffsetSpec): Promise<ReadonlyMap<string, bigint>> =>
    offsetsAt(cluster, partitions, at);
  const starts = await ask('earliest');
  const ends = await ask('latest');
  const times = target.kind === 'time' ? await ask(target.timestampMs) : new Map<string, bigint>();
  const unshiftable: string[] = [];
  const plan: PlannedOffset[] = [];
  for (const { topic, partition } of partitions) {
    const key = topicPartitionKey(topic, partition);
    const own = committed.get(key);
    const atTime = times.get(key) ?? -1n;
    const state = {
      committedOffset: own?.offset ?? null,
      logStartOffset: starts.get(key) ?? 0n,
      endOffset: ends.get(key) ?? 0n,
    };
    const offsetAtTime = atTime < 0n ? null : atTime;
    const newOffset = resetOffset(target, { ...state, offsetAtTime });
    if (newOffset === null) {
      unshiftable.push(key);
    } else {
      plan.push({ topic, partition, ...state, newOffset, metadata: own?.metadata ?? '' });
    }
  }
  if (unshiftable.length > 0) {
    throw new CommandError(
      'COMMAND_REFUSED',
      `There is no committed offset to shift from for ${unshiftable.join(', ')}; give --to-offset or another target.`,
    );
  }
  return plan.sort((a, b) =>
    a.topic < b.topic ? -1 : a.topic > b.topic ? 1 : a.partition - b.partition,
  );
}

async function wantedPartitions(
  cluster: ClusterAdmin,
  wanted: readonly WantedTopic[],
): Promise<TopicPartition[]> {
  const found = await findTopics(
    cluster,
    wanted.map(({ topic }) => topic),
  );
  const all = new Map<string, TopicPartition>();
  for (const [i, topic] of found.entries()) {
    for (const partition of partitionsOf(topic, wanted[i]?.partitions)) {
      all.set(topicPartitionKey(topic.topic, partition), { topic: topic.topic, partition });
    }
  }
  return [...all.values()];
}

async function offsetsAt(
  cluster: ClusterAdmin,
  partitions: readonly TopicPartition[],
  at: OffsetSpec,
): Promise<ReadonlyMap<string, bigint>> {
  const found = await cluster.offsets.list(partitions.map((each) => ({ ...each, at })));
  const offsets = new Map<string, bigint>();
  for (const [key, offset] of found) {
    if (offset instanceof StreamsError) throw offset;
    offsets.set(key, offset);
  }
  return offsets;
}

/** A member that joined since the plan was made makes the brokers refuse it. */
async function execute(
  cluster: ClusterAdmin,
  groupId: string,
  plan: readonly PlannedOffset[],
): Promise<void> {
  const outcomes = await cluster.groups.alterOffsets(
    groupId,
    plan.map(({ topic, partition, newOffset, metadata }) => ({
      topic,
      partition,
      offset: newOffset,
      metadata,
    })),
  );
  const failures = [...outcomes.values()].filter((error) => error !== null);
  if (failures.length === 0) return;
  const isActive = failures.some(
    (error) => error instanceof BrokerError && error.kafkaName === 'UNKNOWN_MEMBER_ID',
  );
  if (isActive) ensureInactive(groupId, 'active again');
  const lines = failures.map((error) => error.message);
  throw new CommandError(
    'COMMAND_REFUSED',
    `${counted(failures.length, 'offset')} of ${plan.length} could not be set:\n${lines.join('\n')}`,
  );
}

/** `orders` or `orders:0,2` */
function collectTopic(text: string, before: readonly WantedTopic[] = []): WantedTopic[] {
  const at = text.indexOf(':');
  if (at < 0) return [...before, { topic: text, partitions: undefined }];
  return [...before, { topic: text.slice(0, at), partitions: parsePartitions(text.slice(at + 1)) }];
}

function parseOffset(text: string): bigint {
  if (/^\d{1,19}$/.test(text)) return BigInt(text);
  throw new InvalidArgumentError(`'${text}' is no offset from 0 on.`);
}

function parseShift(text: string): bigint {
  if (/^[+-]?\d{1,19}$/.test(text)) return BigInt(text.replace('+', ''));
  throw new InvalidArgumentError(`'${text}' is no whole number such as -100.`);
}

function parseDateTime(text: string): number {
  const ms = parseTimeMs(text);
  if (ms !== null) return ms;
  throw new InvalidArgumentError(
    `'${text}' is no time such as 2026-11-30T08:15 (UTC, or with a zone) or @1764490500000.`,
  );
}
