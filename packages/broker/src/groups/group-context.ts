import type { Clock } from '@millrace/compaction';
import type { Logger } from 'pino';
import type { Group } from './group.ts';
import type { GroupConfig } from './group-config.ts';
import type { ErrorCode } from './group-service.ts';

/** Where a group is made durable; the answer is what a client is to be told, 0 = stored. */
export interface GroupStore {
  /** `assignments`: those of the generation that is being stored; without, what the members have. */
  storeGroup(group: Group, assignments?: ReadonlyMap<string, Buffer>): ErrorCode;
}

/** What the phases of a group share. */
export interface GroupContext {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly config: GroupConfig;
  readonly store: GroupStore;
  /** 36 characters, for member ids. */
  readonly newUuid: () => string;
}
