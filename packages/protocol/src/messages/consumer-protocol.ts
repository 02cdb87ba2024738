import { array, bytes, int32, string } from './field.ts';
import { message } from './schema.ts';
import type { MessageOf } from './schema.ts';

/**
 * What a member of a classic consumer group sends as metadata when it joins. Never flexible;
 * every version only adds fields at the end, so a newer version may be read as the newest known.
 */
export const ConsumerProtocolSubscription = message({
  name: 'ConsumerProtocolSubscription',
  versions: '0-3',
  flexible: 'none',
  fields: {
    topics: array('0+', 'string'),
    userData: bytes('0+', { nullable: '0+', default: null }),
    ownedPartitions: array(
      '1+',
      {
        topic: string('1+'),
        partitions: array('1+', 'int32'),
      },
      { ignorable: true },
    ),
    generationId: int32('2+', { default: -1, ignorable: true }),
    rackId: string('3+', { nullable: '3+', default: null, ignorable: true }),
  },
});
export type ConsumerProtocolSubscription = MessageOf<typeof ConsumerProtocolSubscription>;

/**
 * What the leader of a classic consumer group assigns to one member.
 */
export const ConsumerProtocolAssignment = message({
  name: 'ConsumerProtocolAssignment',
  versions: '0-3',
  flexible: 'none',
  fields: {
    assignedPartitions: array('0+', {
      topic: string('0+'),
      partitions: array('0+', 'int32'),
    }),
    userData: bytes('0+', { nullable: '0+', default: null }),
  },
});
export type ConsumerProtocolAssignment = MessageOf<typeof ConsumerProtocolAssignment>;
