import {
  applicationMember,
  describeLocalState,
  topicPartitionKey,
  type AssignedTask,
  type ClusterAdmin,
  type GroupMemberDescription,
  type LocalState,
  type TopicPartition,
} from '@millrace/runtime/cluster';
import type { Command } from 'commander';
import { addConnectionOptions, withCluster, type ConnectionOptions } from './connection.ts';
import { lookForGroup, stateOf, unknownGroup, type FoundGroup } from './find-group.ts';
import { groupPartitions, type GroupPartition } from './group-partitions.ts';
import {
  findInternalTopics,
  type InternalTopic,
  type InternalTopicKind,
} from './internal-topics.ts';
import { toJsonLine } from './json-lines.ts';
import { printLocalState } from './local-state.ts';
import { counted, renderFields, renderTable } from './table.ts';
import type { Terminal } from './terminal.ts';

interface Options extends ConnectionOptions {
  readonly stateDir?: string;
}

interface Member {
  readonly memberId: string;
  readonly groupInstanceId: string | null;
  readonly clientId: string;
  readonly clientHost: string;
  /** Null of a member that is not ours, or while the group rebalances. */
  readonly processId: string | null;
  /** Null of a member that is not ours. */
  readonly tasks: readonly AssignedTask[] | null;
}

interface DescribedPartition extends GroupPartition {
  /** Null if no member tells. */
  readonly task: string | null;
  /** An open transaction holds an offset that is not decided yet. */
  readonly isPending: boolean;
}

interface DescribedTopic {
  readonly topic: string;
  readonly kind: InternalTopicKind;
  readonly partitions: number;
  /** Offsets between begin and end, all partitions together; null if one has no leader. */
  readonly records: bigint | null;
  /** What is set on the topic itself. */
  readonly configs: Readonly<Record<string, string | null>>;
}

interface Application {
  readonly applicationId: string;
  /** Null: the application has no group now. */
  readonly group: FoundGroup | null;
  readonly members: readonly Member[];
  readonly partitions: readonly DescribedPartition[];
  readonly internalTopics: readonly DescribedTopic[];
  /** Undefined: not asked for; null: there is none. */
  readonly localState: LocalState | null | undefined;
}

const NOTES = `
Tasks are known of members that run Millrace. RECORDS counts offsets, of which a compacted topic
has fewer records.

Examples:
  millrace describe orders-app
  millrace describe orders-app --state-dir /var/lib/orders --json`;

/** `millrace describe` */
export function addDescribeCommand(program: Command, terminal: Terminal): void {
  addConnectionOptions(
    program
      .command('describe')
      .description('show a stream application: members, tasks, offsets and lag, internal topics')
      .argument('<application-id>', 'its application.id')
      .option('--state-dir <path>', 'its state.dir on this machine: local state is shown as well')
      .addHelpText('after', NOTES),
  ).action(async (applicationId: string, options: Options) => {
    const application = await withCluster(options, terminal, ({ cluster }) =>
      describe(cluster, applicationId, options.stateDir),
    );
    if (options.json === true) terminal.out(toJsonLine(toJson(application)));
    else print(application, terminal);
  });
}

async function describe(
  cluster: ClusterAdmin,
  applicationId: string,
  stateDir: string | undefined,
): Promise<Application> {
  const group = await lookForGroup(cluster, applicationId);
  const { own } = await findInternalTopics(cluster, applicationId);
  const localState =
    stateDir === undefined ? undefined : await describeLocalState({ stateDir, applicationId });
  if (group === null && own.length === 0 && (localState ?? null) === null) {
    throw await unknownGroup(cluster, applicationId);
  }
  const described = group?.description?.members ?? [];
  const members = described.map(toMember);
  const offsets = group === null ? [] : await groupPartitions(cluster, applicationId, described);
  const pending = keysOf(await cluster.groups.pendingOffsets(applicationId, offsets));
  const tasks = new Map(
    members.flatMap((member) =>
      (member.tasks ?? []).flatMap((task) =>
        task.inputs.map((input) => [keyOf(input), nameOf(task)] as const),
      ),
    ),
  );
  return {
    applicationId,
    group,
    members,
    partitions: offsets.map((each) => ({
      ...each,
      task: tasks.get(keyOf(each)) ?? null,
      isPending: pending.has(keyOf(each)),
    })),
    internalTopics: await describeTopics(cluster, own),
    localState,
  };
}

function keyOf({ topic, partition }: TopicPartition): string {
  return topicPartitionKey(topic, partition);
}

function keysOf(partitions: readonly TopicPartition[]): ReadonlySet<string> {
  return new Set(partitions.map(keyOf));
}

function nameOf({ subtopology, partition }: AssignedTask): string {
  return `${subtopology}_${partition}`;
}

function toMember(described: GroupMemberDescription): Member {
  const { memberId, groupInstanceId, clientId, clientHost } = described;
  const own = applicationMember(described);
  return {
    memberId,
    groupInstanceId,
    clientId,
    clientHost,
    processId: own?.processId ?? null,
    tasks: own?.tasks ?? null,
  };
}

async function describeTopics(
  cluster: ClusterAdmin,
  topics: readonly InternalTopic[],
): Promise<DescribedTopic[]> {
  const partitions = topics.flatMap(({ topic: { topic, partitions: all } }) =>
    all
      .filter(({ leader }) => leader >= 0)
      .map(({ partition }): TopicPartition => ({ topic, partition })),
  );
  const starts = await cluster.offsets.list(
    partitions.map((each) => ({ ...each, at: 'earliest' })),
  );
  const ends = await cluster.offsets.list(partitions.map((each) => ({ ...each, at: 'latest' })));
  return Promise.all(
    topics.map(async ({ kind, topic: { topic, partitions: all } }) => {
      const configs = await cluster.configs.describeTopic(topic);
      let records: bigint | null = 0n;
      for (const { partition } of all) {
        const key = topicPartitionKey(topic, partition);
        const [start, end] = [starts.get(key), ends.get(key)];
        if (typeof start !== 'bigint' || typeof end !== 'bigint') records = null;
        else if (records !== null) records += end - start;
      }
      return {
        topic,
        kind,
        partitions: all.length,
        records,
        configs: Object.fromEntries(
          configs.filter(({ isOwn }) => isOwn).map(({ name, value }) => [name, value]),
        ),
      };
    }),
  );
}

function toJson(application: Application): unknown {
  const { applicationId, group, members, partitions, internalTopics, localState } = application;
  return {
    applicationId,
    state: group === null ? null : stateOf(group),
    type: group?.listing.type ?? null,
    protocol: group?.description?.protocol ?? null,
    members:
      group !== null && group.description === null
        ? null
        : members.map(({ tasks, ...member }) => ({ ...member, tasks: tasks?.map(nameOf) ?? null })),
    tasks: members.flatMap(({ memberId, tasks }) =>
      (tasks ?? []).map((task) => ({
        task: nameOf(task),
        subtopology: task.subtopology,
        partition: task.partition,
        memberId,
        inputs: task.inputs,
      })),
    ),
    partitions,
    internalTopics,
    ...(localState === undefined ? {} : { localState }),
  };
}

function print(application: Application, terminal: Terminal): void {
  const { applicationId, group, members, partitions, internalTopics, localState } = application;
  const processes = new Set(members.flatMap(({ processId }) => processId ?? []));
  const known = partitions.flatMap(({ lag }) => lag ?? []);
  terminal.out(
    renderFields([
      ['application', applicationId],
      ['state', group === null ? 'no group' : stateOf(group)],
      ['protocol', group?.description?.protocol || null],
      [
        'members',
        processes.size === 0
          ? members.length
          : `${members.length}, of ${counted(processes.size, 'instance')}`,
      ],
      ['tasks', members.reduce((sum, { tasks }) => sum + (tasks?.length ?? 0), 0)],
      ['lag', known.length === 0 ? null : known.reduce((sum, lag) => sum + lag, 0n)],
    ]),
  );
  if (members.length > 0) {
    terminal.out('');
    terminal.out(
      renderTable(
        ['MEMBER', 'CLIENT', 'HOST', 'PROCESS', 'TASKS'],
        members.map((member) => [
          member.groupInstanceId ?? member.memberId,
          member.clientId,
          member.clientHost,
          member.processId,
          member.tasks === null ? null : member.tasks.map(nameOf).join(' '),
        ]),
      ),
    );
  }
  if (partitions.length > 0) {
    terminal.out('');
    terminal.out(
      renderTable(
        ['TASK', 'TOPIC', 'PARTITION', 'COMMITTED', 'END', 'LAG'],
        [...partitions]
          .sort((a, b) => compareTasks(a.task, b.task))
          .map((each) => [
            each.task,
            each.topic,
            each.partition,
            each.isPending ? `${each.committedOffset ?? '-'} (pending)` : each.committedOffset,
            each.endOffset,
            each.lag,
          ]),
      ),
    );
  }
  if (internalTopics.length > 0) {
    terminal.out('');
    terminal.out(
      renderTable(
        ['INTERNAL TOPIC', 'KIND', 'PARTITIONS', 'RECORDS', 'CONFIGS'],
        internalTopics.map(({ topic, kind, partitions: count, records, configs }) => [
          topic,
          kind,
          count,
          records,
          Object.entries(configs)
            .map(([name, value]) => `${name}=${value ?? ''}`)
            .join(' ') || null,
        ]),
      ),
    );
  }
  if (localState !== undefined) {
    terminal.out('');
    printLocalState(localState, terminal);
  }
  if (group !== null && group.description === null) {
    terminal.err(`Members of a group of type ${String(group.listing.type)} are not shown here.`);
  }
}

/** Those of no known task last; otherwise as they were, by topic and partition. */
function compareTasks(a: string | null, b: string | null): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  const [aSubtopology = 0, aPartition = 0] = a.split('_').map(Number);
  const [bSubtopology = 0, bPartition = 0] = b.split('_').map(Number);
  return aSubtopology - bSubtopology || aPartition - bPartition;
}
