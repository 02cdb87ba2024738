/** Bounds of the group coordinator that are no Kafka configuration. The unit is the last word of the name. */

/** Groups of one broker, empty ones included; a further one is refused with POLICY_VIOLATION. */
export const GROUPS = 50_000;

/** Members of one group, whatever `group.max.size` says; above it GROUP_MAX_SIZE_REACHED. */
export const GROUP_MEMBERS = 10_000;

/** Ids given out with MEMBER_ID_REQUIRED that no member has come back with yet, per group. */
export const GROUP_PENDING_MEMBERS = 10_000;

/** What a member id tells of its client; the longest of client ids would leave no room for the rest. */
export const MEMBER_ID_PREFIX_CHARACTERS = 1_000;

/** Protocols that one member may offer; above it INCONSISTENT_GROUP_PROTOCOL. */
export const MEMBER_PROTOCOLS = 1_000;

/** A new member's parked join is given up after this long; a client that is still there asks again. */
export const NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000;

/** The shortest wait before a rebalance that nobody has joined is looked at again. */
export const REBALANCE_RETRY_MS = 100;

/** Groups whose offsets are checked for expiry before the loop is given back. */
export const EXPIRY_SLICE_GROUPS = 500;
