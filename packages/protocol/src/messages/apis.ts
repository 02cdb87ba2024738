import type { Api } from './schema.ts';
import { AddOffsetsToTxn } from './add-offsets-to-txn.ts';
import { AddPartitionsToTxn } from './add-partitions-to-txn.ts';
import { AlterConfigs } from './alter-configs.ts';
import { ApiVersions } from './api-versions.ts';
import { CreateAcls } from './create-acls.ts';
import { CreatePartitions } from './create-partitions.ts';
import { CreateTopics } from './create-topics.ts';
import { DeleteAcls } from './delete-acls.ts';
import { DeleteGroups } from './delete-groups.ts';
import { DeleteRecords } from './delete-records.ts';
import { DeleteTopics } from './delete-topics.ts';
import { DescribeAcls } from './describe-acls.ts';
import { DescribeCluster } from './describe-cluster.ts';
import { DescribeConfigs } from './describe-configs.ts';
import { DescribeGroups } from './describe-groups.ts';
import { DescribeProducers } from './describe-producers.ts';
import { DescribeTopicPartitions } from './describe-topic-partitions.ts';
import { DescribeTransactions } from './describe-transactions.ts';
import { EndTxn } from './end-txn.ts';
import { Fetch } from './fetch.ts';
import { FindCoordinator } from './find-coordinator.ts';
import { Heartbeat } from './heartbeat.ts';
import { IncrementalAlterConfigs } from './incremental-alter-configs.ts';
import { InitProducerId } from './init-producer-id.ts';
import { JoinGroup } from './join-group.ts';
import { LeaveGroup } from './leave-group.ts';
import { ListGroups } from './list-groups.ts';
import { ListOffsets } from './list-offsets.ts';
import { ListTransactions } from './list-transactions.ts';
import { Metadata } from './metadata.ts';
import { OffsetCommit } from './offset-commit.ts';
import { OffsetDelete } from './offset-delete.ts';
import { OffsetFetch } from './offset-fetch.ts';
import { OffsetForLeaderEpoch } from './offset-for-leader-epoch.ts';
import { Produce } from './produce.ts';
import { SaslAuthenticate } from './sasl-authenticate.ts';
import { SaslHandshake } from './sasl-handshake.ts';
import { SyncGroup } from './sync-group.ts';
import { TxnOffsetCommit } from './txn-offset-commit.ts';
import { WriteTxnMarkers } from './write-txn-markers.ts';

const all: readonly Api<unknown, unknown>[] = [
  Produce,
  Fetch,
  ListOffsets,
  Metadata,
  OffsetCommit,
  OffsetFetch,
  FindCoordinator,
  JoinGroup,
  Heartbeat,
  LeaveGroup,
  SyncGroup,
  DescribeGroups,
  ListGroups,
  SaslHandshake,
  ApiVersions,
  CreateTopics,
  DeleteTopics,
  DeleteRecords,
  InitProducerId,
  OffsetForLeaderEpoch,
  AddPartitionsToTxn,
  AddOffsetsToTxn,
  EndTxn,
  WriteTxnMarkers,
  TxnOffsetCommit,
  DescribeAcls,
  CreateAcls,
  DeleteAcls,
  DescribeConfigs,
  AlterConfigs,
  SaslAuthenticate,
  CreatePartitions,
  DeleteGroups,
  IncrementalAlterConfigs,
  OffsetDelete,
  DescribeCluster,
  DescribeProducers,
  DescribeTransactions,
  ListTransactions,
  DescribeTopicPartitions,
];

/** Every API whose messages are declared here, by its key. */
export const apis: ReadonlyMap<number, Api<unknown, unknown>> = new Map(
  all.map((api) => [api.key, api] as const),
);
