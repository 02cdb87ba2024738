import {
  AddOffsetsToTxn,
  AddPartitionsToTxn,
  CreatePartitions,
  CreateTopics,
  DeleteRecords,
  DeleteTopics,
  DescribeConfigs,
  DescribeGroups,
  EndTxn,
  Fetch,
  FindCoordinator,
  Heartbeat,
  IncrementalAlterConfigs,
  InitProducerId,
  JoinGroup,
  LeaveGroup,
  ListGroups,
  ListOffsets,
  Metadata,
  OffsetCommit,
  OffsetFetch,
  Produce,
  SyncGroup,
  TxnOffsetCommit,
} from '@millrace/protocol';
import type {
  AddOffsetsToTxnRequest,
  AddOffsetsToTxnResponse,
  AddPartitionsToTxnRequest,
  AddPartitionsToTxnResponse,
  Api,
  CreatePartitionsRequest,
  CreatePartitionsResponse,
  CreateTopicsRequest,
  CreateTopicsResponse,
  DeleteRecordsRequest,
  DeleteRecordsResponse,
  DeleteTopicsRequest,
  DeleteTopicsResponse,
  DescribeConfigsRequest,
  DescribeConfigsResponse,
  DescribeGroupsRequest,
  DescribeGroupsResponse,
  EndTxnRequest,
  EndTxnResponse,
  FetchRequest,
  FetchResponse,
  FindCoordinatorRequest,
  FindCoordinatorResponse,
  HeartbeatRequest,
  HeartbeatResponse,
  IncrementalAlterConfigsRequest,
  IncrementalAlterConfigsResponse,
  InitProducerIdRequest,
  InitProducerIdResponse,
  JoinGroupRequest,
  JoinGroupResponse,
  LeaveGroupRequest,
  LeaveGroupResponse,
  ListGroupsRequest,
  ListGroupsResponse,
  ListOffsetsRequest,
  ListOffsetsResponse,
  MetadataRequest,
  MetadataResponse,
  OffsetCommitRequest,
  OffsetCommitResponse,
  OffsetFetchRequest,
  OffsetFetchResponse,
  ProduceRequest,
  ProduceResponse,
  SyncGroupRequest,
  SyncGroupResponse,
  TxnOffsetCommitRequest,
  TxnOffsetCommitResponse,
} from '@millrace/protocol';
import type { ApiUse } from './transport.ts';

function use<Req, Res>(
  api: Api<Req, Res>,
  minVersion: number,
  maxVersion: number,
): ApiUse<Req, Res> {
  return { api, minVersion, maxVersion };
}

export interface ApiUses {
  readonly produce: ApiUse<ProduceRequest, ProduceResponse>;
  readonly produceZstd: ApiUse<ProduceRequest, ProduceResponse>;
  readonly fetch: ApiUse<FetchRequest, FetchResponse>;
  readonly listOffsets: ApiUse<ListOffsetsRequest, ListOffsetsResponse>;
  readonly metadata: ApiUse<MetadataRequest, MetadataResponse>;
  readonly findCoordinator: ApiUse<FindCoordinatorRequest, FindCoordinatorResponse>;
  readonly joinGroup: ApiUse<JoinGroupRequest, JoinGroupResponse>;
  readonly syncGroup: ApiUse<SyncGroupRequest, SyncGroupResponse>;
  readonly heartbeat: ApiUse<HeartbeatRequest, HeartbeatResponse>;
  readonly leaveGroup: ApiUse<LeaveGroupRequest, LeaveGroupResponse>;
  readonly removeMembers: ApiUse<LeaveGroupRequest, LeaveGroupResponse>;
  readonly offsetCommit: ApiUse<OffsetCommitRequest, OffsetCommitResponse>;
  readonly joinGroupStatic: ApiUse<JoinGroupRequest, JoinGroupResponse>;
  readonly syncGroupStatic: ApiUse<SyncGroupRequest, SyncGroupResponse>;
  readonly heartbeatStatic: ApiUse<HeartbeatRequest, HeartbeatResponse>;
  readonly offsetCommitStatic: ApiUse<OffsetCommitRequest, OffsetCommitResponse>;
  readonly offsetFetch: ApiUse<OffsetFetchRequest, OffsetFetchResponse>;
  readonly stableOffsetFetch: ApiUse<OffsetFetchRequest, OffsetFetchResponse>;
  readonly initProducerId: ApiUse<InitProducerIdRequest, InitProducerIdResponse>;
  readonly initTransactions: ApiUse<InitProducerIdRequest, InitProducerIdResponse>;
  readonly addPartitionsToTransaction: ApiUse<
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse
  >;
  readonly addOffsetsToTransaction: ApiUse<AddOffsetsToTxnRequest, AddOffsetsToTxnResponse>;
  readonly commitOffsetsInTransaction: ApiUse<TxnOffsetCommitRequest, TxnOffsetCommitResponse>;
  readonly endTransaction: ApiUse<EndTxnRequest, EndTxnResponse>;
  readonly createTopics: ApiUse<CreateTopicsRequest, CreateTopicsResponse>;
  readonly deleteRecords: ApiUse<DeleteRecordsRequest, DeleteRecordsResponse>;
  readonly describeConfigs: ApiUse<DescribeConfigsRequest, DescribeConfigsResponse>;
  readonly alterConfigs: ApiUse<IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse>;
  readonly deleteTopics: ApiUse<DeleteTopicsRequest, DeleteTopicsResponse>;
  readonly createPartitions: ApiUse<CreatePartitionsRequest, CreatePartitionsResponse>;
  readonly listGroups: ApiUse<ListGroupsRequest, ListGroupsResponse>;
  readonly describeGroups: ApiUse<DescribeGroupsRequest, DescribeGroupsResponse>;
}

/**
 * The versions that the client speaks. Lower ends: what the calls cannot do without. Upper ends: the
 * last version before the API goes by topic ids or changes its meaning.
 */
export const apiUses: ApiUses = {
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
  /** Several members at once from 3 on (KIP-345); a reason from 5 on (KIP-800). */
  removeMembers: use(LeaveGroup, 3, 5),
  offsetCommit: use(OffsetCommit, 2, 7),
  /** Static members (KIP-345). */
  joinGroupStatic: use(JoinGroup, 5, 5),
  syncGroupStatic: use(SyncGroup, 3, 3),
  heartbeatStatic: use(Heartbeat, 3, 3),
  offsetCommitStatic: use(OffsetCommit, 7, 7),
  /** Stable offsets only (KIP-447) from version 7; an older broker has no transactions with offsets of ours. */
  offsetFetch: use(OffsetFetch, 2, 7),
  stableOffsetFetch: use(OffsetFetch, 7, 7),
  initProducerId: use(InitProducerId, 1, 4),
  /** From 3 on an epoch can be renewed (KIP-360). */
  initTransactions: use(InitProducerId, 3, 5),
  /** Later versions are between brokers. */
  addPartitionsToTransaction: use(AddPartitionsToTxn, 0, 3),
  addOffsetsToTransaction: use(AddOffsetsToTxn, 0, 4),
  /** Fenced by generation from 3 on (KIP-447); from 5 on it adds the offsets itself (KIP-890). */
  commitOffsetsInTransaction: use(TxnOffsetCommit, 3, 4),
  /** From 5 on each transaction has an epoch of its own (KIP-890). */
  endTransaction: use(EndTxn, 0, 4),
  createTopics: use(CreateTopics, 2, 7),
  deleteRecords: use(DeleteRecords, 0, 2),
  describeConfigs: use(DescribeConfigs, 1, 4),
  alterConfigs: use(IncrementalAlterConfigs, 0, 1),
  /** By name; from version 6 a topic may be named by its id instead. */
  deleteTopics: use(DeleteTopics, 1, 5),
  createPartitions: use(CreatePartitions, 0, 3),
  /** States from version 4 (KIP-518), types from 5 (KIP-848). */
  listGroups: use(ListGroups, 0, 5),
  /** Until 5 a group that does not exist is described as Dead. */
  describeGroups: use(DescribeGroups, 0, 5),
};
