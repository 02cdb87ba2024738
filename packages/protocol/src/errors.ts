interface Row<C extends number> {
  readonly code: C;
  readonly retriable: boolean;
  readonly message: string;
}

function final<const C extends number>(code: C, message: string): Row<C> {
  return { code, retriable: false, message };
}

function retriable<const C extends number>(code: C, message: string): Row<C> {
  return { code, retriable: true, message };
}

/** The error codes of Kafka 4.4 under Kafka's names; retriable as the Java client has it. */
const rows = {
  UNKNOWN_SERVER_ERROR: final(
    -1,
    'the broker failed in a way it did not foresee; its log says more',
  ),
  NONE: final(0, 'no error'),
  OFFSET_OUT_OF_RANGE: final(1, "the offset lies outside the partition's log"),
  CORRUPT_MESSAGE: retriable(
    2,
    'a record batch is damaged, too long, or lacks a key in a compacted topic',
  ),
  UNKNOWN_TOPIC_OR_PARTITION: retriable(3, 'this broker has no such topic or partition'),
  INVALID_FETCH_SIZE: final(4, 'the fetch asks for an impossible size'),
  LEADER_NOT_AVAILABLE: retriable(5, 'the partition has no leader at the moment'),
  NOT_LEADER_OR_FOLLOWER: retriable(
    6,
    'this broker does not lead, or does not hold, the partition',
  ),
  REQUEST_TIMED_OUT: retriable(7, 'the request was not finished in its time'),
  BROKER_NOT_AVAILABLE: final(8, 'the broker cannot be reached'),
  REPLICA_NOT_AVAILABLE: retriable(9, 'the replica cannot serve the partition at the moment'),
  MESSAGE_TOO_LARGE: final(10, 'a record batch is larger than the topic accepts'),
  STALE_CONTROLLER_EPOCH: final(11, 'the controller has moved on to a later epoch'),
  OFFSET_METADATA_TOO_LARGE: final(12, 'the metadata of a committed offset is too long'),
  NETWORK_EXCEPTION: retriable(13, 'the connection ended before the answer came'),
  COORDINATOR_LOAD_IN_PROGRESS: retriable(14, 'the coordinator is still loading its state'),
  COORDINATOR_NOT_AVAILABLE: retriable(15, 'there is no coordinator at the moment'),
  NOT_COORDINATOR: retriable(16, 'another broker coordinates this group or transaction'),
  INVALID_TOPIC_EXCEPTION: final(
    17,
    "the topic's name is not legal, or the topic may not be used so",
  ),
  RECORD_LIST_TOO_LARGE: final(18, 'a record batch is larger than a segment'),
  NOT_ENOUGH_REPLICAS: retriable(
    19,
    'fewer replicas are in sync than the topic requires; nothing was written',
  ),
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: retriable(
    20,
    'written, but to fewer replicas than the topic requires',
  ),
  INVALID_REQUIRED_ACKS: final(21, 'acks must be -1, 0 or 1'),
  ILLEGAL_GENERATION: final(22, 'the group is in another generation'),
  INCONSISTENT_GROUP_PROTOCOL: final(23, 'the member shares no protocol with the group'),
  INVALID_GROUP_ID: final(24, 'the group id is not legal'),
  UNKNOWN_MEMBER_ID: final(25, 'the group has no such member'),
  INVALID_SESSION_TIMEOUT: final(26, 'the session timeout lies outside what the broker allows'),
  REBALANCE_IN_PROGRESS: final(27, 'the group rebalances; join again'),
  INVALID_COMMIT_OFFSET_SIZE: final(28, 'the committed offsets do not fit into one record batch'),
  TOPIC_AUTHORIZATION_FAILED: final(29, 'not allowed to use the topic'),
  GROUP_AUTHORIZATION_FAILED: final(30, 'not allowed to use the group'),
  CLUSTER_AUTHORIZATION_FAILED: final(31, 'not allowed to do this in the cluster'),
  INVALID_TIMESTAMP: final(32, "a record's timestamp is further from now than the topic allows"),
  UNSUPPORTED_SASL_MECHANISM: final(33, 'the broker does not offer this SASL mechanism'),
  ILLEGAL_SASL_STATE: final(34, 'the request does not fit the state of authentication'),
  UNSUPPORTED_VERSION: final(35, 'the broker does not speak this version of the API'),
  TOPIC_ALREADY_EXISTS: final(36, 'a topic of this name is there already'),
  INVALID_PARTITIONS: final(37, 'the partition count is not possible'),
  INVALID_REPLICATION_FACTOR: final(
    38,
    'the replication factor is below 1 or above the number of brokers',
  ),
  INVALID_REPLICA_ASSIGNMENT: final(39, 'the replica assignment is not possible'),
  INVALID_CONFIG: final(40, 'a config has an unknown name or an impossible value'),
  NOT_CONTROLLER: retriable(41, 'another broker is the controller'),
  INVALID_REQUEST: final(42, 'the request contradicts itself or lacks something'),
  UNSUPPORTED_FOR_MESSAGE_FORMAT: final(43, 'the stored record format does not allow this'),
  POLICY_VIOLATION: final(44, 'a policy of the cluster forbids this'),
  OUT_OF_ORDER_SEQUENCE_NUMBER: final(45, "a producer's sequence does not follow the last one"),
  DUPLICATE_SEQUENCE_NUMBER: final(46, "a producer's sequence was written before"),
  INVALID_PRODUCER_EPOCH: final(
    47,
    "the producer's epoch is outdated: a newer instance has taken over",
  ),
  INVALID_TXN_STATE: final(48, 'the transaction is in a state that does not allow this'),
  INVALID_PRODUCER_ID_MAPPING: final(49, 'the transactional id belongs to another producer id now'),
  INVALID_TRANSACTION_TIMEOUT: final(
    50,
    'the transaction timeout is larger than the broker allows',
  ),
  CONCURRENT_TRANSACTIONS: retriable(
    51,
    'the previous step of this transaction is still being finished',
  ),
  TRANSACTION_COORDINATOR_FENCED: final(52, 'a later coordinator has taken over the transaction'),
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED: final(53, 'not allowed to use the transactional id'),
  SECURITY_DISABLED: final(54, 'the broker has no authorizer'),
  OPERATION_NOT_ATTEMPTED: final(55, 'not tried, because another part of the request failed'),
  KAFKA_STORAGE_ERROR: retriable(56, "the broker's disk failed"),
  LOG_DIR_NOT_FOUND: final(57, 'the broker has no such log directory'),
  SASL_AUTHENTICATION_FAILED: final(58, 'the credentials were refused'),
  UNKNOWN_PRODUCER_ID: final(59, 'the partition remembers nothing of this producer id'),
  REASSIGNMENT_IN_PROGRESS: final(60, 'the partition is being moved already'),
  DELEGATION_TOKEN_AUTH_DISABLED: final(61, 'the broker has delegation tokens turned off'),
  DELEGATION_TOKEN_NOT_FOUND: final(62, 'there is no such delegation token'),
  DELEGATION_TOKEN_OWNER_MISMATCH: final(
    63,
    'the principal neither owns the token nor may renew it',
  ),
  DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: final(
    64,
    'tokens cannot be asked for over this kind of connection',
  ),
  DELEGATION_TOKEN_AUTHORIZATION_FAILED: final(65, 'not allowed to use the delegation token'),
  DELEGATION_TOKEN_EXPIRED: final(66, 'the delegation token has expired'),
  INVALID_PRINCIPAL_TYPE: final(67, 'principals of this type are not supported'),
  NON_EMPTY_GROUP: final(68, 'the group still has members'),
  GROUP_ID_NOT_FOUND: final(69, 'there is no such group'),
  FETCH_SESSION_ID_NOT_FOUND: retriable(70, 'the broker has no such fetch session'),
  INVALID_FETCH_SESSION_EPOCH: retriable(
    71,
    'the epoch of the fetch session is not the expected one',
  ),
  LISTENER_NOT_FOUND: retriable(72, 'the leader has no listener of the name used here'),
  TOPIC_DELETION_DISABLED: final(73, 'the broker has deleting of topics turned off'),
  FENCED_LEADER_EPOCH: retriable(
    74,
    'the client knows an older leader epoch than the broker; refresh metadata',
  ),
  UNKNOWN_LEADER_EPOCH: retriable(75, 'the client knows a later leader epoch than the broker'),
  UNSUPPORTED_COMPRESSION_TYPE: final(
    76,
    "this version of the API does not allow the batch's compression",
  ),
  STALE_BROKER_EPOCH: final(77, 'the broker has registered anew since'),
  OFFSET_NOT_AVAILABLE: retriable(78, 'a new leader does not know its high watermark yet'),
  MEMBER_ID_REQUIRED: final(79, 'join again with the member id given in the answer'),
  PREFERRED_LEADER_NOT_AVAILABLE: retriable(80, 'the preferred leader cannot be reached'),
  GROUP_MAX_SIZE_REACHED: final(81, 'the group is full'),
  FENCED_INSTANCE_ID: final(82, 'another member has joined with the same group.instance.id'),
  ELIGIBLE_LEADERS_NOT_AVAILABLE: retriable(83, 'no replica that may lead can be reached'),
  ELECTION_NOT_NEEDED: retriable(84, 'the partition has the leader it should have'),
  NO_REASSIGNMENT_IN_PROGRESS: final(85, 'the partition is not being moved'),
  GROUP_SUBSCRIBED_TO_TOPIC: final(86, 'the group still reads the topic'),
  INVALID_RECORD: final(87, "a record was refused by the broker's checks"),
  UNSTABLE_OFFSET_COMMIT: retriable(88, 'offsets of an unfinished transaction are pending'),
  THROTTLING_QUOTA_EXCEEDED: retriable(89, 'the quota is used up for now'),
  PRODUCER_FENCED: final(90, 'a newer producer with the same transactional id has taken over'),
  RESOURCE_NOT_FOUND: final(91, 'there is no such resource'),
  DUPLICATE_RESOURCE: final(92, 'the request names a resource twice'),
  UNACCEPTABLE_CREDENTIAL: final(93, 'the credential does not meet the requirements'),
  INCONSISTENT_VOTER_SET: final(94, 'sender or receiver is none of the expected voters'),
  INVALID_UPDATE_VERSION: final(95, 'the version to update to is not possible'),
  FEATURE_UPDATE_FAILED: final(96, 'the features could not be updated'),
  PRINCIPAL_DESERIALIZATION_FAILURE: final(97, 'a forwarded principal could not be read'),
  SNAPSHOT_NOT_FOUND: final(98, 'there is no such snapshot'),
  POSITION_OUT_OF_RANGE: final(99, 'the position lies outside the snapshot'),
  UNKNOWN_TOPIC_ID: retriable(100, 'this broker has no topic of this id'),
  DUPLICATE_BROKER_REGISTRATION: final(101, 'the broker id is in use'),
  BROKER_ID_NOT_REGISTERED: final(102, 'no broker of this id is registered'),
  INCONSISTENT_TOPIC_ID: retriable(103, 'the log has another topic id than the request'),
  INCONSISTENT_CLUSTER_ID: final(104, 'the request was meant for another cluster'),
  TRANSACTIONAL_ID_NOT_FOUND: final(105, 'there is no such transactional id'),
  FETCH_SESSION_TOPIC_ID_ERROR: retriable(106, 'the fetch session mixes topic names and topic ids'),
  INELIGIBLE_REPLICA: final(107, 'a replica may not be in the in-sync set'),
  NEW_LEADER_ELECTED: final(108, 'the partition was changed, and has another leader now'),
  OFFSET_MOVED_TO_TIERED_STORAGE: final(109, 'the offset lies in tiered storage'),
  FENCED_MEMBER_EPOCH: final(
    110,
    'the group has fenced the member; give up all partitions and join again',
  ),
  UNRELEASED_INSTANCE_ID: final(111, 'another member still uses the instance id'),
  UNSUPPORTED_ASSIGNOR: final(112, 'the group does not support the assignor'),
  STALE_MEMBER_EPOCH: final(113, "the member's epoch is outdated; a heartbeat brings the new one"),
  MISMATCHED_ENDPOINT_TYPE: final(
    114,
    'sent to a broker what is meant for a controller, or the reverse',
  ),
  UNSUPPORTED_ENDPOINT_TYPE: final(115, 'endpoints of this type are not supported'),
  UNKNOWN_CONTROLLER_ID: final(116, 'there is no controller of this id'),
  UNKNOWN_SUBSCRIPTION_ID: final(117, 'the telemetry subscription is unknown or outdated'),
  TELEMETRY_TOO_LARGE: final(118, 'the telemetry is larger than the broker accepts'),
  INVALID_REGISTRATION: final(119, 'the controller refuses the registration'),
  TRANSACTION_ABORTABLE: final(
    120,
    'the transaction must be aborted; the producer can go on after that',
  ),
  INVALID_RECORD_STATE: final(121, 'the record is in a state that cannot be acknowledged'),
  SHARE_SESSION_NOT_FOUND: retriable(122, 'the broker has no such share session'),
  INVALID_SHARE_SESSION_EPOCH: retriable(
    123,
    'the epoch of the share session is not the expected one',
  ),
  FENCED_STATE_EPOCH: final(124, 'the state has another epoch'),
  INVALID_VOTER_KEY: final(125, "the voter's key is not that of the receiver"),
  DUPLICATE_VOTER: final(126, 'the voter is in the set already'),
  VOTER_NOT_FOUND: final(127, 'the voter is not in the set'),
  INVALID_REGULAR_EXPRESSION: final(128, 'the regular expression cannot be parsed'),
  REBOOTSTRAP_REQUIRED: final(
    129,
    "the client's view of the cluster is stale; start from the bootstrap servers again",
  ),
  STREAMS_INVALID_TOPOLOGY: final(130, 'the topology is not valid'),
  STREAMS_INVALID_TOPOLOGY_EPOCH: final(131, "the topology's epoch is not valid"),
  STREAMS_TOPOLOGY_FENCED: final(132, 'a later topology epoch has replaced this one'),
  SHARE_SESSION_LIMIT_REACHED: retriable(133, 'no further share session is allowed'),
  GROUP_DELETION_FAILED: final(134, 'a group could not be deleted; its own result says why'),
  STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED: final(
    135,
    'the description of the topology could not be stored',
  ),
  CONTROLLER_ID_NOT_REGISTERED: final(136, 'no controller of this id is registered'),
};

export type ErrorName = keyof typeof rows;

/** An error code with what is known of it. */
export interface KafkaError {
  readonly name: ErrorName;
  readonly code: number;
  /** Whether the same request may succeed later without any change. */
  readonly retriable: boolean;
  readonly message: string;
}

const errors = Object.entries(rows).map(([name, row]): KafkaError => ({
  name: name as ErrorName,
  ...row,
}));

/** Kafka's error codes by name, such as `errorCodes.OFFSET_OUT_OF_RANGE`. */
export const errorCodes = Object.fromEntries(errors.map(({ name, code }) => [name, code])) as {
  readonly [N in ErrorName]: (typeof rows)[N]['code'];
};

const byCode: ReadonlyMap<number, KafkaError> = new Map(errors.map((error) => [error.code, error]));

/** A code that Kafka 4.4 does not define counts as UNKNOWN_SERVER_ERROR, as the Java client does. */
export function errorByCode(code: number): KafkaError {
  return byCode.get(code) ?? (byCode.get(errorCodes.UNKNOWN_SERVER_ERROR) as KafkaError);
}
