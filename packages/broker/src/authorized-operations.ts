/**
 * Bit fields of operations (KIP-430) that a client may do. There is no authoriser yet, so everyone may
 * do everything that the resource knows; the bits are Kafka's operation codes.
 */
function bitsOf(...operations: number[]): number {
  return operations.reduce((bits, operation) => bits | (1 << operation), 0);
}

const READ = 3;
const WRITE = 4;
const CREATE = 5;
const DELETE = 6;
const ALTER = 7;
const DESCRIBE = 8;
const CLUSTER_ACTION = 9;
const DESCRIBE_CONFIGS = 10;
const ALTER_CONFIGS = 11;
const IDEMPOTENT_WRITE = 12;

/** Shown where the client did not ask. */
export const OPERATIONS_NOT_ASKED = -2_147_483_648;

export const TOPIC_OPERATIONS = bitsOf(
  READ,
  WRITE,
  CREATE,
  DELETE,
  ALTER,
  DESCRIBE,
  DESCRIBE_CONFIGS,
  ALTER_CONFIGS,
);

export const CLUSTER_OPERATIONS = bitsOf(
  CREATE,
  ALTER,
  DESCRIBE,
  CLUSTER_ACTION,
  DESCRIBE_CONFIGS,
  ALTER_CONFIGS,
  IDEMPOTENT_WRITE,
);

export const GROUP_OPERATIONS = bitsOf(READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS);
