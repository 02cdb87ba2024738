import { errorCodes } from '@millrace/protocol';
import { coordinatorErrorCode } from '../coordinators/coordinator-errors.ts';
import type { Group } from './group.ts';
import type { GroupContext } from './group-context.ts';
import { groupTombstone } from './group-records.ts';
import type { DescribedGroup, ErrorCode, ListedGroup } from './group-service.ts';
import type { GroupTable } from './group-table.ts';
import type { OffsetOperations } from './offset-operations.ts';
import type { OffsetsLog } from './offsets-log.ts';
import type { OffsetStore } from './offsets.ts';

/** What administrators see and do: describe, list, delete groups. */
export class GroupAdministration {
  readonly #context: GroupContext;
  readonly #groups: GroupTable;
  readonly #offsets: OffsetStore;
  readonly #operations: OffsetOperations;
  readonly #log: OffsetsLog;

  constructor(
    context: GroupContext,
    groups: GroupTable,
    offsets: OffsetStore,
    operations: OffsetOperations,
    log: OffsetsLog,
  ) {
    this.#context = context;
    this.#groups = groups;
    this.#offsets = offsets;
    this.#operations = operations;
    this.#log = log;
  }

  describe(groupId: string): DescribedGroup | undefined {
    const group = this.#groups.get(groupId);
    if (group === undefined) return undefined;
    const protocolName = group.state === 'Stable' ? group.protocolName : null;
    return {
      groupId,
      groupState: group.state,
      protocolType: group.protocolType ?? '',
      protocolData: protocolName ?? '',
      members: [...group.members()].map((member) => member.describe(protocolName)),
    };
  }

  list(statesFilter: readonly string[], typesFilter: readonly string[]): readonly ListedGroup[] {
    const states = normalised(statesFilter);
    const types = normalised(typesFilter);
    if (types.size > 0 && !types.has('classic')) return [];
    const listed: ListedGroup[] = [];
    for (const { groupId, protocolType, state } of this.#groups.all()) {
      if (states.size > 0 && !states.has(state.toLowerCase())) continue;
      listed.push({
        groupId,
        protocolType: protocolType ?? '',
        groupState: state,
        groupType: 'classic',
      });
    }
    return listed;
  }

  /** GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP, or what the append came to. */
  delete(groupId: string): ErrorCode {
    const group = this.#groups.get(groupId);
    if (group === undefined) return errorCodes.GROUP_ID_NOT_FOUND;
    if (group.state !== 'Empty') return errorCodes.NON_EMPTY_GROUP;
    return this.deleteEmpty(group);
  }

  /** The group's own tombstone comes last: until it is written, what is left can be deleted again. */
  deleteEmpty(group: Group): ErrorCode {
    const { groupId } = group;
    const partitions = this.#offsets.partitionsOf(groupId);
    const errorCode = this.#operations.deletePartitions(groupId, partitions);
    if (errorCode !== errorCodes.NONE) return errorCode;
    try {
      this.#log.append(groupId, [groupTombstone(groupId)]);
    } catch (error) {
      return coordinatorErrorCode(error, this.#context.logger);
    }
    this.#groups.remove(group);
    this.#context.logger.info({ groupId }, 'group is deleted');
    return errorCodes.NONE;
  }
}

function normalised(filter: readonly string[]): ReadonlySet<string> {
  return new Set(filter.map((one) => one.trim().toLowerCase()));
}
