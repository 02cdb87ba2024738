/** Kafka's error code, 0 = none. */
export type ErrorCode = number;

/** The client behind a request, as far as groups are concerned. */
export interface GroupClient {
  readonly clientId: string;
  /** As DescribeGroups shows it: `/127.0.0.1`. */
  readonly clientHost: string;
  readonly isClosed: boolean;
  /** Calls the listener once when the connection is gone; the result takes it back. */
  onClose(listener: () => void): () => void;
}

export interface JoinProtocol {
  readonly name: string;
  /** Kept byte for byte, empty ones too. */
  readonly metadata: Buffer;
}

export interface JoinRequest {
  readonly groupId: string;
  readonly sessionTimeoutMs: number;
  /** Before JoinGroup v1 the session timeout. */
  readonly rebalanceTimeoutMs: number;
  /** Empty: not a member yet. */
  readonly memberId: string;
  readonly groupInstanceId: string | null;
  readonly protocolType: string;
  /** In the member's order of preference. */
  readonly protocols: readonly JoinProtocol[];
  readonly reason: string | null;
  /** v4+: a dynamic member without id is sent back with one (KIP-394). */
  readonly requiresKnownMemberId: boolean;
  /** v9+: a static leader that comes back is told not to assign (KIP-814). */
  readonly supportsSkippingAssignment: boolean;
}

export interface JoinedMember {
  readonly memberId: string;
  readonly groupInstanceId: string | null;
  readonly metadata: Buffer;
}

export interface JoinResult {
  readonly errorCode: ErrorCode;
  readonly generationId: number;
  readonly protocolType: string | null;
  readonly protocolName: string | null;
  readonly leader: string;
  readonly skipAssignment: boolean;
  readonly memberId: string;
  /** Filled for the leader only. */
  readonly members: readonly JoinedMember[];
}

export interface SyncRequest {
  readonly groupId: string;
  readonly generationId: number;
  readonly memberId: string;
  readonly groupInstanceId: string | null;
  /** v5+; null where the client does not say. */
  readonly protocolType: string | null;
  readonly protocolName: string | null;
  readonly assignments: readonly { readonly memberId: string; readonly assignment: Buffer }[];
}

export interface SyncResult {
  readonly errorCode: ErrorCode;
  readonly protocolType: string | null;
  readonly protocolName: string | null;
  readonly assignment: Buffer;
}

export interface HeartbeatRequest {
  readonly groupId: string;
  readonly generationId: number;
  readonly memberId: string;
  readonly groupInstanceId: string | null;
}

export interface LeavingMember {
  /** Empty: whoever has the instance id now (an administrator removes a static member). */
  readonly memberId: string;
  readonly groupInstanceId: string | null;
  readonly reason: string | null;
}

export interface LeaveResult {
  readonly errorCode: ErrorCode;
  readonly members: readonly {
    readonly memberId: string;
    readonly groupInstanceId: string | null;
    readonly errorCode: ErrorCode;
  }[];
}

export interface CommitRequest {
  readonly groupId: string;
  /** -1 with an empty member id: a client that manages no membership. */
  readonly generationId: number;
  readonly memberId: string;
  readonly groupInstanceId: string | null;
  /** OffsetCommit v2-4; -1: the broker's retention. */
  readonly retentionTimeMs: bigint;
  /** v9+ tells a group that is not there with GROUP_ID_NOT_FOUND, older ones ILLEGAL_GENERATION. */
  readonly supportsGroupIdNotFound: boolean;
  readonly topics: readonly {
    readonly name: string;
    readonly partitions: readonly {
      readonly partitionIndex: number;
      readonly committedOffset: bigint;
      readonly committedLeaderEpoch: number;
      readonly committedMetadata: string | null;
    }[];
  }[];
}

/** TxnOffsetCommit: offsets that count once the producer's transaction is committed (KIP-98, KIP-447). */
export interface TransactionalCommitRequest {
  readonly groupId: string;
  readonly producerId: bigint;
  readonly producerEpoch: number;
  /** -1 with an empty member id: a producer that says nothing of its consumer's membership. */
  readonly generationId: number;
  readonly memberId: string;
  readonly groupInstanceId: string | null;
  readonly topics: CommitRequest['topics'];
}

export interface PartitionResult {
  readonly partitionIndex: number;
  readonly errorCode: ErrorCode;
}

export interface TopicResult {
  readonly name: string;
  readonly partitions: readonly PartitionResult[];
}

/** A committed offset as it is told to clients. */
export interface FetchedOffset {
  readonly partitionIndex: number;
  /** -1: none. */
  readonly committedOffset: bigint;
  readonly committedLeaderEpoch: number;
  readonly metadata: string;
  readonly errorCode: ErrorCode;
}

export interface FetchedTopic {
  readonly name: string;
  readonly partitions: readonly FetchedOffset[];
}

/** `null`: every partition that the group has an offset for. */
export type OffsetQuery =
  readonly { readonly name: string; readonly partitionIndexes: readonly number[] }[] | null;

export interface DescribedMember {
  readonly memberId: string;
  readonly groupInstanceId: string | null;
  readonly clientId: string;
  readonly clientHost: string;
  readonly memberMetadata: Buffer;
  readonly memberAssignment: Buffer;
}

export interface DescribedGroup {
  readonly groupId: string;
  readonly groupState: string;
  readonly protocolType: string;
  /** The chosen protocol of a stable group, else empty. */
  readonly protocolData: string;
  readonly members: readonly DescribedMember[];
}

export interface ListedGroup {
  readonly groupId: string;
  readonly protocolType: string;
  readonly groupState: string;
  readonly groupType: 'classic';
}

/**
 * The coordinator of every group of this broker: classic consumer groups and committed offsets.
 *
 * Answers are Kafka's error codes; only faults of ours are thrown. Whatever is acknowledged has been
 * appended to `__consumer_offsets` before.
 */
export interface GroupService {
  /** Rebuilds groups and offsets from `__consumer_offsets`. To be called once, before clients are let in. */
  load(): void;
  /** Ends all timers and answers whoever still waits; nothing is written. */
  close(): void;

  /** Pending until the group's members have joined or the rebalance timeout has passed. */
  joinGroup(request: JoinRequest, client: GroupClient): JoinResult | Promise<JoinResult>;
  /** Pending until the leader has brought the assignment. */
  syncGroup(request: SyncRequest, client: GroupClient): SyncResult | Promise<SyncResult>;
  heartbeat(request: HeartbeatRequest): ErrorCode;
  leaveGroup(groupId: string, members: readonly LeavingMember[]): LeaveResult;

  commitOffsets(request: CommitRequest): readonly TopicResult[];
  /** Of a producer whose transaction includes the group's partition of `__consumer_offsets`. */
  commitTransactionalOffsets(request: TransactionalCommitRequest): readonly TopicResult[];
  /** The partition of `__consumer_offsets` that the group lives in; undefined while there is none. */
  offsetsPartitionOf(groupId: string): number | undefined;
  /** The marker of the producer's transaction is in that partition of `__consumer_offsets`. */
  completeTransaction(producerId: bigint, offsetsPartition: number, isCommit: boolean): void;
  /** With flush.messages reached: when commits of the group are durable, or why they will not be. */
  flushIfDue(groupId: string): Promise<ErrorCode> | undefined;
  /** `requireStable`: UNSTABLE_OFFSET_COMMIT where a transaction's commit is still open (KIP-447). */
  fetchOffsets(
    groupId: string,
    topics: OffsetQuery,
    requireStable: boolean,
  ): readonly FetchedTopic[];
  deleteOffsets(
    groupId: string,
    topics: readonly { readonly name: string; readonly partitionIndexes: readonly number[] }[],
  ): { readonly errorCode: ErrorCode; readonly topics: readonly TopicResult[] };

  /** undefined: there is no such group. */
  describeGroup(groupId: string): DescribedGroup | undefined;
  /** Filters are compared without regard to case; an empty one lets everything through. */
  listGroups(
    statesFilter: readonly string[],
    typesFilter: readonly string[],
  ): readonly ListedGroup[];
  deleteGroups(
    groupIds: readonly string[],
  ): readonly { readonly groupId: string; readonly errorCode: ErrorCode }[];

  /** Committed offsets of a topic's partitions go when the topic does. */
  onTopicDeleted(topic: string): void;
}
