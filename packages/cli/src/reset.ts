import type { Command } from 'commander';
import { addConnectionOptions, withCluster, type ConnectionOptions } from './connection.ts';
import { invalidCommand } from './errors.ts';
import { toJsonLine } from './json-lines.ts';
import { printLocalState } from './local-state.ts';
import type { PlanTarget } from './offset-plan.ts';
import { readOffsetsFile } from './offsets-file.ts';
import { executeReset } from './reset-execute.ts';
import { planReset, type ResetPlan } from './reset-plan.ts';
import {
  addResetTargetOptions,
  refuseContradiction,
  resetTargetsOf,
  type ResetTargetOptions,
} from './reset-target-options.ts';
import { counted, renderTable } from './table.ts';
import type { Terminal } from './terminal.ts';

interface Options extends ConnectionOptions, ResetTargetOptions {
  readonly inputTopics?: readonly string[];
  readonly allInputTopics?: boolean;
  readonly fromFile?: string;
  readonly internalTopics?: readonly string[];
  readonly stateDir?: string;
  readonly force?: boolean;
  readonly execute?: boolean;
  readonly dryRun?: boolean;
}

const EXAMPLES = `
An application that is reset begins anew: its input offsets are set, its internal topics
(<application-id>-...-changelog and -repartition, whoever made them) are deleted, and its local
state is removed. Output topics stay as they are. Without --execute the plan is only shown.
Input topics go to their beginning unless a target is given; without input topics no offset is set.
Stop all instances first. Local state is removed in --state-dir on this machine alone: an instance
elsewhere has its own, which must go as well, there.

Examples:
  millrace reset orders-app --all-input-topics --state-dir /var/lib/orders
  millrace reset orders-app --input-topics orders,payments --to-datetime 2026-11-30T08:00
  millrace reset orders-app --all-input-topics --state-dir /var/lib/orders --execute`;

/** `millrace reset` */
export function addResetCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('reset')
    .description('let a stream application begin anew; shows the plan unless --execute is given')
    .argument('<application-id>', 'its application.id')
    .option('--input-topics <topic,...>', 'set the offsets of these; may be repeated', collectNames)
    .option('--all-input-topics', 'of all topics with committed offsets but the internal ones');
  addConnectionOptions(
    addResetTargetOptions(command)
      .option('--from-file <path>', 'each partition to the offset in a topic,partition,offset line')
      .option(
        '--internal-topics <topic,...>',
        'delete only these of the internal topics; may be repeated',
        collectNames,
      )
      .option('--state-dir <path>', "the application's state.dir here: remove its local state")
      .option('--force', 'remove members from the group, such as those that have died')
      .option('--dry-run', 'only show the plan: the default')
      .option('--execute', 'do it')
      .addHelpText('after', EXAMPLES),
  ).action(async (applicationId: string, options: Options) => {
    const target = targetOf(options);
    refuseContradiction(options);
    const stateDir = options.stateDir ?? null;
    await withCluster(options, terminal, async ({ cluster, timeoutMs }) => {
      const plan = await planReset(cluster, {
        applicationId,
        inputTopics: options.allInputTopics === true ? null : (options.inputTopics ?? []),
        target,
        internalTopics: options.internalTopics ?? null,
        stateDir,
        isForced: options.force === true,
      });
      const isExecuted = options.execute === true;
      if (isExecuted) {
        const isRepeatable = target.kind !== 'shift';
        await executeReset(cluster, plan, { stateDir, timeoutMs, isRepeatable });
      }
      if (options.json === true) terminal.out(toJsonLine(toJson(plan, isExecuted)));
      else print(plan, isExecuted, terminal);
    });
  });
}

function targetOf(options: Options): PlanTarget {
  const targets: PlanTarget[] = [
    ...resetTargetsOf(options),
    ...(options.fromFile === undefined
      ? []
      : [{ kind: 'each' as const, offsets: readOffsetsFile(options.fromFile) }]),
  ];
  if (targets.length > 1) {
    throw invalidCommand(
      'Give at most one of --to-earliest, --to-latest, --to-offset, --to-datetime, --shift-by, --by-duration, --from-file.',
    );
  }
  const hasInputs = options.inputTopics !== undefined || options.allInputTopics === true;
  if (options.inputTopics !== undefined && options.allInputTopics === true) {
    throw invalidCommand('--input-topics and --all-input-topics contradict each other.');
  }
  if (targets.length > 0 && !hasInputs) {
    throw invalidCommand('Say whose offsets are set: --input-topics, or --all-input-topics.');
  }
  return targets[0] ?? { kind: 'earliest' };
}

function toJson(plan: ResetPlan, isExecuted: boolean): unknown {
  const { applicationId, membersToRemove, offsets, topicsToDelete, localState, remarks } = plan;
  return {
    applicationId,
    isExecuted,
    removedMembers: membersToRemove.map(({ memberId, clientId, clientHost }) => ({
      memberId,
      clientId,
      clientHost,
    })),
    partitions: offsets.map(({ metadata: _, ...shown }) => shown),
    deletedTopics: topicsToDelete.map(({ topic, kind }) => ({
      topic: topic.topic,
      kind,
      partitions: topic.partitions.length,
    })),
    localState,
    remarks,
  };
}

function print(plan: ResetPlan, isExecuted: boolean, terminal: Terminal): void {
  const { membersToRemove, offsets, topicsToDelete, localState, remarks } = plan;
  const be = (done: string): string => (isExecuted ? done : `would be ${done}`);
  for (const { memberId, clientHost } of membersToRemove) {
    terminal.out(`member ${memberId} on ${clientHost} ${be('removed')}`);
  }
  if (offsets.length > 0) {
    terminal.out(
      renderTable(
        ['TOPIC', 'PARTITION', isExecuted ? 'WAS' : 'IS', isExecuted ? 'IS' : 'WOULD BE', 'END'],
        offsets.map((each) => [
          each.topic,
          each.partition,
          each.committedOffset,
          each.newOffset,
          each.endOffset,
        ]),
      ),
    );
  }
  for (const { topic } of topicsToDelete) {
    const size = counted(topic.partitions.length, 'partition');
    terminal.out(`topic ${topic.topic} of ${size} ${be('deleted')}`);
  }
  if (localState !== null) {
    terminal.out(`local state ${be('removed')}:`);
    printLocalState(localState, terminal);
  }
  if (offsets.length + topicsToDelete.length === 0 && localState === null) {
    terminal.out('nothing is left to reset');
  }
  for (const remark of remarks) terminal.err(remark);
  if (!isExecuted) terminal.err('Nothing was changed: --execute does it.');
}

function collectNames(text: string, before: readonly string[] = []): string[] {
  const names = text.split(',').map((name) => name.trim());
  return [...before, ...names.filter((name) => name !== '')];
}
