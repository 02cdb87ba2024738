import {
  CreateTopics,
  DeleteRecords,
  DescribeConfigs,
  Fetch,
  FindCoordinator,
  Heartbeat,
  InitProducerId,
  JoinGroup,
  LeaveGroup,
  ListOffsets,
  Metadata,
  OffsetCommit,
  OffsetFetch,
  Produce,
  SyncGroup,
} from '@millrace/protocol';
import type { Api } from '@millrace/protocol';
import type { ApiUse } from './transport.ts';

function use<Req, Res>(
  api: Api<Req, Res>,
  minVersion: number,
  maxVersion: number,
): ApiUse<Req, Res> {
  return { api, minVersion, maxVersion };
}

/**
 * The versions that the client speaks. Lower ends: what the calls cannot do without. Upper ends: the
 * last version before the API goes by topic ids or changes its meaning.
 */
export const apiUses = {
  produce: use(Produce, 3, 8),
  /** zstd needs version 7 (KIP-110). */
  produceZstd: use(Produce, 7, 8),
  fetch: use(Fetch, 4, 11),
  listOffsets: use(ListOffsets, 2, 5),
  metadata: use(Metadata, 4, 12),
  findCoordinator: use(FindCoordinator, 1, 3),
  joinGroup: use(JoinGroup, 2, 5),
  syncGroup: use(SyncGroup, 1, 3),
  heartbeat: use(Heartbeat, 1, 3),
  leaveGroup: use(LeaveGroup, 0, 3),
  offsetCommit: use(OffsetCommit, 2, 7),
  /** Static members (KIP-345). */
  joinGroupStatic: use(JoinGroup, 5, 5),
  syncGroupStatic: use(SyncGroup, 3, 3),
  heartbeatStatic: use(Heartbeat, 3, 3),
  offsetCommitStatic: use(OffsetCommit, 7, 7),
  /** Stable offsets only (KIP-447) from version 7; an older broker has no transactions with offsets of ours. */
  offsetFetch: use(OffsetFetch, 2, 7),
  initProducerId: use(InitProducerId, 1, 4),
  createTopics: use(CreateTopics, 2, 7),
  deleteRecords: use(DeleteRecords, 0, 2),
  describeConfigs: use(DescribeConfigs, 1, 4),
} as const;
