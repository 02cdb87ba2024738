import type { ClusterAdmin, TopicPartition } from '@millrace/runtime/cluster';
import { topicPartitionKey } from '@millrace/runtime/cluster';
import type { Command } from 'commander';
import { addConnectionOptions, withCluster, type ConnectionOptions } from './connection.ts';
import { CommandError, invalidCommand } from './errors.ts';
import { lookForGroup, stateOf, unknownGroup } from './find-group.ts';
import { findTopics } from './find-topic.ts';
import { toJsonLine } from './json-lines.ts';
import { commitPlan, planOffsets, type PlannedOffset } from './offset-plan.ts';
import { parsePartitions, partitionsOf } from './partition-list.ts';
import {
  addResetTargetOptions,
  refuseContradiction,
  resetTargetsOf,
  type ResetTargetOptions,
} from './reset-target-options.ts';
import type { ResetTarget } from './reset-target.ts';
import { renderTable } from './table.ts';
import type { Terminal } from './terminal.ts';

interface WantedTopic {
  readonly topic: string;
  readonly partitions: readonly number[] | undefined;
}

interface Options extends ConnectionOptions, ResetTargetOptions {
  readonly topic?: readonly WantedTopic[];
  readonly allTopics?: boolean;
  readonly execute?: boolean;
  readonly dryRun?: boolean;
}

const EXAMPLES = `
Give exactly one of the targets, and the topics. Without --execute the plan is only shown.
The group must have no members. Offsets outside of a log are moved to its begin or end.
This resets offsets alone: millrace reset resets a stream application with its state.

Examples:
  millrace groups reset billing --all-topics --to-earliest
  millrace groups reset billing --topic orders --topic payments:0,2 --to-datetime 2026-11-30T08:00
  millrace groups reset billing --topic orders --shift-by -100 --execute`;

/** `millrace groups reset` */
export function addGroupsResetCommand(groups: Command, terminal: Terminal): void {
  const command = groups
    .command('reset')
    .description("set a group's committed offsets; shows the plan unless --execute is given")
    .argument('<group>', 'its id')
    .option('--topic <topic[:partitions]>', 'this one; may be repeated', collectTopic)
    .option('--all-topics', 'all topics that the group has committed offsets of');
  addConnectionOptions(
    addResetTargetOptions(command)
      .option('--dry-run', 'only show the plan: the default')
      .option('--execute', 'do it')
      .addHelpText('after', EXAMPLES),
  ).action(async (groupId: string, options: Options) => {
    const target = targetOf(options);
    if ((options.allTopics === true) === (options.topic !== undefined)) {
      throw invalidCommand('Give either --topic, once or more, or --all-topics.');
    }
    refuseContradiction(options);
    await withCluster(options, terminal, ({ cluster }) =>
      reset(cluster, groupId, target, options, terminal),
    );
  });
}

function targetOf(options: Options): ResetTarget {
  const targets = resetTargetsOf(options);
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
  if (found !== null && !isInactive(stateOf(found))) throw active(groupId, stateOf(found));
  const isNew = found === null;
  if (isNew && (options.allTopics === true || target.kind === 'shift')) {
    throw await unknownGroup(cluster, groupId);
  }
  const plan = await makePlan(cluster, groupId, target, options, isNew);
  const isExecuted = options.execute === true;
  if (isExecuted) await commitPlan(cluster, groupId, plan, () => active(groupId, 'active again'));
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

function isInactive(state: string): boolean {
  return state === 'Empty' || state === 'Dead';
}

/** Members would not see the new offsets, and commit their own over them. */
function active(groupId: string, state: string): CommandError {
  return new CommandError(
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
  return planOffsets(cluster, target, partitions, committed);
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

/** `orders` or `orders:0,2` */
function collectTopic(text: string, before: readonly WantedTopic[] = []): WantedTopic[] {
  const at = text.indexOf(':');
  if (at < 0) return [...before, { topic: text, partitions: undefined }];
  return [...before, { topic: text.slice(0, at), partitions: parsePartitions(text.slice(at + 1)) }];
}
