import type { Reader } from '@millrace/protocol';
import { Writer } from '@millrace/protocol';
import type { TaskId } from '../operators/task-context.ts';
import { openUserData, USER_DATA_MAGIC } from './versioned-data.ts';

/** What a member tells the leader when it joins. */
export interface SubscriptionData {
  /** One per KafkaStreams instance; its stream threads are members of their own. */
  readonly processId: string;
  /** Generation in which it got its tasks; -1 none. The later claim on a task wins. */
  readonly generation: number;
  readonly activeTasks: readonly TaskId[];
  /** Why all instances are to stop (KIP-671); null: they are not. Version 1 had none. */
  readonly shutdownReason?: string | null;
}

/** What the leader answers. */
export interface AssignmentData {
  readonly error: AssignmentErrorCode;
  /** Says what is missing or wrong; empty without an error. */
  readonly errorMessage: string;
  readonly activeTasks: readonly TaskId[];
  /**
   * Of each subtopology that it has tasks of. A member knows them by itself; whoever looks at the group
   * from the outside does not. Version 1 had none.
   */
  readonly sourceTopics: ReadonlyMap<number, readonly string[]>;
}

export const assignmentErrorCodes = {
  none: 0,
  missingSourceTopic: 1,
  misconfiguredTopic: 2,
  /** All instances stop; the message says why. */
  applicationShutdown: 3,
} as const;

export type AssignmentErrorCode = (typeof assignmentErrorCodes)[keyof typeof assignmentErrorCodes];

const SUBSCRIPTION_VERSION = 2;
const ASSIGNMENT_VERSION = 2;
const READABLE_FROM = 1;

export function encodeSubscription(data: SubscriptionData): Buffer {
  const writer = open(SUBSCRIPTION_VERSION);
  writer.writeString(data.processId);
  writer.writeInt32(data.generation);
  writeTasks(writer, data.activeTasks);
  writer.writeNullableString(data.shutdownReason ?? null);
  return Buffer.from(writer.toBuffer());
}

export function decodeSubscription(buffer: Buffer): SubscriptionData {
  const { reader, version } = openUserData(buffer, "A member's subscription", SUBSCRIPTION_VERSION);
  return {
    processId: reader.readString(),
    generation: reader.readInt32(),
    activeTasks: readTasks(reader),
    shutdownReason: version < 2 ? null : reader.readNullableString(),
  };
}

export function encodeAssignment(data: AssignmentData): Buffer {
  const writer = open(ASSIGNMENT_VERSION);
  writer.writeInt16(data.error);
  writer.writeString(data.errorMessage);
  writeTasks(writer, data.activeTasks);
  writeSourceTopics(writer, data.sourceTopics);
  return Buffer.from(writer.toBuffer());
}

export function decodeAssignment(buffer: Buffer): AssignmentData {
  const { reader, version } = openUserData(buffer, "The leader's assignment", ASSIGNMENT_VERSION);
  return {
    error: reader.readInt16() as AssignmentErrorCode,
    errorMessage: reader.readString(),
    activeTasks: readTasks(reader),
    sourceTopics: version < 2 ? new Map() : readSourceTopics(reader),
  };
}

function open(version: number): Writer {
  const writer = new Writer();
  writer.writeInt16(USER_DATA_MAGIC);
  writer.writeInt16(version);
  writer.writeInt16(READABLE_FROM);
  return writer;
}

function writeTasks(writer: Writer, tasks: readonly TaskId[]): void {
  writer.writeInt32(tasks.length);
  for (const { subtopology, partition } of tasks) {
    writer.writeInt32(subtopology);
    writer.writeInt32(partition);
  }
}

function readTasks(reader: Reader): TaskId[] {
  const count = reader.readInt32();
  if (count < 0 || count * 8 > reader.remaining) {
    throw new RangeError(`user data names ${String(count)} tasks, but ends after fewer`);
  }
  const tasks: TaskId[] = [];
  for (let i = 0; i < count; i++) {
    tasks.push({ subtopology: reader.readInt32(), partition: reader.readInt32() });
  }
  return tasks;
}

function writeSourceTopics(
  writer: Writer,
  sourceTopics: ReadonlyMap<number, readonly string[]>,
): void {
  writer.writeInt32(sourceTopics.size);
  for (const [subtopology, topics] of sourceTopics) {
    writer.writeInt32(subtopology);
    writer.writeInt32(topics.length);
    for (const topic of topics) writer.writeString(topic);
  }
}

function readSourceTopics(reader: Reader): Map<number, readonly string[]> {
  const sourceTopics = new Map<number, readonly string[]>();
  // A count that is too high ends at the end of the data, with an error of the reader's.
  for (let left = reader.readInt32(); left > 0; left--) {
    const subtopology = reader.readInt32();
    const topics: string[] = [];
    for (let topicsLeft = reader.readInt32(); topicsLeft > 0; topicsLeft--) {
      topics.push(reader.readString());
    }
    sourceTopics.set(subtopology, topics);
  }
  return sourceTopics;
}
