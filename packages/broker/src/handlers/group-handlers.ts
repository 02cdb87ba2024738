import { offsetCommitHandler } from './08-offset-commit.ts';
import { offsetFetchHandler } from './09-offset-fetch.ts';
import { findCoordinatorHandler } from './10-find-coordinator.ts';
import { joinGroupHandler } from './11-join-group.ts';
import { heartbeatHandler } from './12-heartbeat.ts';
import { leaveGroupHandler } from './13-leave-group.ts';
import { syncGroupHandler } from './14-sync-group.ts';
import { describeGroupsHandler } from './15-describe-groups.ts';
import { listGroupsHandler } from './16-list-groups.ts';
import { deleteGroupsHandler } from './42-delete-groups.ts';
import { offsetDeleteHandler } from './47-offset-delete.ts';
import type { HandlerRegistry } from './registry.ts';

/** Registers the handlers of the classic group protocol and of group offsets. */
export function registerGroupHandlers(registry: HandlerRegistry): void {
  registry
    .register(offsetCommitHandler)
    .register(offsetFetchHandler)
    .register(findCoordinatorHandler)
    .register(joinGroupHandler)
    .register(heartbeatHandler)
    .register(leaveGroupHandler)
    .register(syncGroupHandler)
    .register(describeGroupsHandler)
    .register(listGroupsHandler)
    .register(deleteGroupsHandler)
    .register(offsetDeleteHandler);
}
