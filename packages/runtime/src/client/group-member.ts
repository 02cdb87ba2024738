import type { Logger } from 'pino';
import { errorCodes } from '@millrace/protocol';
import type { JoinGroupResponse } from '@millrace/protocol';
import {
  AssignmentVersionError,
  InvariantError,
  RebalanceInProgressError,
  ShutdownError,
  StreamsError,
  TaskMigratedError,
  TimeoutError,
} from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import type { Random } from '../platform/random.ts';
import { apiUses } from './apis.ts';
import { Backoff } from './backoff.ts';
import { brokerError } from './broker-errors.ts';
import { Coordinator } from './coordinator.ts';
import { isCoordinatorMoved, isMembershipLost } from './error-codes.ts';
import { ConnectionError } from './errors.ts';
import { GroupOffsets } from './group-offsets.ts';
import {
  decodeAssignment,
  decodeSubscription,
  encodeAssignment,
  encodeSubscription,
} from './group-protocol.ts';
import { memberTransitions } from './group-states.ts';
import type { MemberState } from './group-states.ts';
import { Heartbeats } from './heartbeats.ts';
import {
  COORDINATOR_MISSING_MAX_MS,
  FAILURES_BEFORE_WARNING,
  JOIN_TIMEOUT_MARGIN_MS,
} from './limits.ts';
import type {
  GroupHandler,
  GroupMetadata,
  GroupOptions,
  GroupPort,
  MemberAssignment,
  OffsetAndMetadata,
  OffsetsToCommit,
  TopicPartition,
  TopicPartitionKey,
} from './ports.ts';
import { Sleeper } from './sleeper.ts';
import type { Transport } from './transport.ts';
import { withDeadline } from './with-deadline.ts';

export interface GroupContext {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly requestTimeoutMs: number;
}

/** Why a stable member has to join again. */
type Signal =
  | { readonly kind: 'rebalance'; readonly reason: string }
  | { readonly kind: 'lost'; readonly error: Error };

const PROTOCOL_TYPE = 'consumer';
const NO_GENERATION = -1;

/**
 * A member of a classic consumer group (KIP-62, KIP-345, KIP-394). One loop joins, has the assignment
 * taken over, waits for the next rebalance, has the old assignment given up, and joins again; the
 * heartbeats go on beside it.
 */
export class GroupMember implements GroupPort {
  readonly #context: GroupContext;
  readonly #options: GroupOptions;
  readonly #coordinator: Coordinator;
  readonly #offsets: GroupOffsets;
  readonly #heartbeats: Heartbeats;
  readonly #sleeper: Sleeper;
  #handler: GroupHandler | null = null;
  #state: MemberState = 'idle';
  #metadata: GroupMetadata;
  #signal: Signal | null = null;
  #onSignal: (() => void) | null = null;
  /** Set from `onAssigned` until `onLost`: there is something that may be lost. */
  #hasAssignment = false;

  constructor(context: GroupContext, options: GroupOptions) {
    this.#context = context;
    this.#options = options;
    const { transport, clock, requestTimeoutMs } = context;
    const { groupId, groupInstanceId } = options;
    this.#metadata = { groupId, groupInstanceId, generation: NO_GENERATION, memberId: '' };
    this.#sleeper = new Sleeper(clock);
    this.#coordinator = new Coordinator(transport, 'group', groupId, requestTimeoutMs);
    this.#offsets = new GroupOffsets({
      ...context,
      coordinator: this.#coordinator,
      sleeper: this.#sleeper,
    });
    this.#heartbeats = new Heartbeats({
      transport,
      clock,
      coordinator: this.#coordinator,
      intervalMs: options.heartbeatIntervalMs,
      sessionTimeoutMs: options.sessionTimeoutMs,
      onAnswer: (code) => {
        this.#heartbeatAnswered(code);
      },
      onFatal: (error) => {
        this.#die(error);
      },
    });
  }

  get metadata(): GroupMetadata {
    return this.#metadata;
  }

  get state(): MemberState {
    return this.#state;
  }

  join(handler: GroupHandler): void {
    if (this.#handler !== null || this.#state !== 'idle') {
      throw new InvariantError(`Member of group ${this.#options.groupId} has joined before`);
    }
    this.#handler = handler;
    this.#run(handler).catch((error: unknown) => {
      if (this.#isEnding()) return;
      this.#die(error instanceof Error ? error : new InvariantError(String(error)));
    });
  }

  rejoin(reason: string): boolean {
    if (this.#state === 'idle' || this.#isEnding()) return false;
    this.#raise({ kind: 'rebalance', reason });
    return true;
  }

  async commit(offsets: OffsetsToCommit): Promise<void> {
    const { groupId } = this.#options;
    if (this.#signal?.kind === 'lost') {
      const { error } = this.#signal;
      throw new TaskMigratedError(`Not committed: ${error.message}`, { cause: error });
    }
    if (this.#state === 'joining' || this.#state === 'syncing') {
      throw new RebalanceInProgressError(
        `Group ${groupId} is between two generations: nothing was committed`,
        { context: { group: groupId } },
      );
    }
    if (this.#isEnding()) throw new ShutdownError(`The member of group ${groupId} has left`);
    try {
      await this.#offsets.commit(offsets, this.#metadata);
    } catch (error) {
      if (error instanceof RebalanceInProgressError) this.rejoin('a commit met a rebalance');
      if (error instanceof TaskMigratedError) this.#raise({ kind: 'lost', error });
      throw error;
    }
  }

  committed(
    partitions: readonly TopicPartition[],
    { requireStable }: { readonly requireStable: boolean },
  ): Promise<ReadonlyMap<TopicPartitionKey, OffsetAndMetadata>> {
    return this.#offsets.committed(this.#options.groupId, partitions, requireStable);
  }

  async leave(timeoutMs: number, isForGood = false): Promise<void> {
    if (this.#state === 'leaving' || this.#state === 'left') return;
    const { clock, transport, logger } = this.#context;
    const startedAt = clock.monotonicMs();
    this.#to('leaving');
    this.#heartbeats.stop();
    this.#sleeper.close();
    this.#onSignal?.();
    if (this.#metadata.memberId !== '' && (isForGood || this.#options.groupInstanceId === null)) {
      const timedOut = new TimeoutError(`LeaveGroup was not answered within ${timeoutMs} ms`);
      await withDeadline(clock, timeoutMs, this.#sendLeave(timeoutMs), () => timedOut).catch(
        (error: unknown) => {
          logger.debug({ err: error }, 'left without an answer; the session timeout ends it');
        },
      );
    }
    this.#to('left');
    await transport.close(Math.max(0, timeoutMs - (clock.monotonicMs() - startedAt)));
  }

  // ------------------------------------------------------------------------------------ the loop

  async #run(handler: GroupHandler): Promise<void> {
    for (;;) {
      const assignment = await this.#becomeMember(handler);
      this.#to('stable');
      this.#hasAssignment = true;
      const { generation, memberId } = this.#metadata;
      const partitionCount = assignment.partitions.length;
      this.#context.logger.info({ generation, memberId, partitionCount }, 'assigned');
      const isInTime = await this.#handled(
        'onAssigned',
        handler.onAssigned(assignment, this.#metadata),
      );
      if (!isInTime) this.#raiseOverrun('onAssigned');
      const signal = await this.#nextSignal();
      this.#to('revoking');
      if (signal.kind === 'rebalance') {
        this.#context.logger.info({ generation, reason: signal.reason }, 'rejoining the group');
        if (!(await this.#handled('onRebalance', handler.onRebalance()))) {
          this.#raiseOverrun('onRebalance');
        }
      }
      // It may also have become known while the handler worked.
      if (this.#signal?.kind === 'lost') await this.#lose(handler, this.#signal.error);
    }
  }

  /** Joins and syncs until there is an assignment. */
  async #becomeMember(handler: GroupHandler): Promise<MemberAssignment> {
    const { clock, random, logger } = this.#context;
    const backoff = new Backoff(random);
    let failingSince = -1;
    for (;;) {
      this.#to('joining');
      this.#heartbeats.stop();
      try {
        const assignment = await this.#tryToJoin(handler);
        if (assignment !== null) return assignment;
        // An answer that says what to do next: not a failure.
        failingSince = -1;
        continue;
      } catch (error) {
        if (this.#isEnding() || !(error instanceof StreamsError) || !error.retriable) throw error;
        const now = clock.monotonicMs();
        if (failingSince < 0) failingSince = now;
        if (error instanceof ConnectionError || error instanceof TimeoutError) {
          this.#coordinator.forget();
        }
        if (now - failingSince > COORDINATOR_MISSING_MAX_MS) throw error;
        const waitMs = backoff.next();
        const isOutage = backoff.failureCount === FAILURES_BEFORE_WARNING;
        const groupId = this.#options.groupId;
        logger[isOutage && !isLoading(error) ? 'warn' : 'debug'](
          { err: error, groupId },
          'could not join the group; trying again',
        );
        await this.#sleeper.sleep(waitMs);
      }
    }
  }

  /** Null: join again at once. */
  async #tryToJoin(handler: GroupHandler): Promise<MemberAssignment | null> {
    const nodeId = await this.#coordinator.find();
    // What is signalled from here on was not known to the subscription that is sent.
    this.#signal = null;
    const joined = await this.#sendJoin(nodeId, handler);
    if (joined === null) return null;
    const { generationId, memberId, leader, members } = joined;
    this.#metadata = { ...this.#metadata, generation: generationId, memberId };
    this.#to('syncing');
    this.#heartbeats.start(this.#metadata);
    const assignments = leader === memberId ? await this.#assign(handler, members) : [];
    return this.#sendSync(nodeId, handler, assignments);
  }

  async #sendJoin(nodeId: number, handler: GroupHandler): Promise<JoinGroupResponse | null> {
    const { groupId, groupInstanceId, sessionTimeoutMs, rebalanceTimeoutMs, protocolName } =
      this.#options;
    const { topics, userData } = handler.subscription();
    const response = await this.#context.transport.send(
      nodeId,
      groupInstanceId === null ? apiUses.joinGroup : apiUses.joinGroupStatic,
      {
        groupId,
        sessionTimeoutMs,
        rebalanceTimeoutMs,
        memberId: this.#metadata.memberId,
        groupInstanceId,
        protocolType: PROTOCOL_TYPE,
        protocols: [{ name: protocolName, metadata: encodeSubscription(topics, userData) }],
      },
      { timeoutMs: rebalanceTimeoutMs + JOIN_TIMEOUT_MARGIN_MS, lane: 'parked' },
    );
    const { errorCode, memberId } = response;
    if (errorCode === errorCodes.NONE) return response;
    if (errorCode === errorCodes.MEMBER_ID_REQUIRED) {
      this.#metadata = { ...this.#metadata, memberId };
      return null;
    }
    await this.#refused(errorCode, 'join', handler);
    return null;
  }

  async #sendSync(
    nodeId: number,
    handler: GroupHandler,
    assignments: readonly { memberId: string; assignment: Buffer }[],
  ): Promise<MemberAssignment | null> {
    const { groupId, groupInstanceId, rebalanceTimeoutMs } = this.#options;
    const { generation, memberId } = this.#metadata;
    const response = await this.#context.transport.send(
      nodeId,
      groupInstanceId === null ? apiUses.syncGroup : apiUses.syncGroupStatic,
      { groupId, generationId: generation, memberId, groupInstanceId, assignments },
      { timeoutMs: rebalanceTimeoutMs + JOIN_TIMEOUT_MARGIN_MS, lane: 'parked' },
    );
    const { errorCode, assignment } = response;
    if (errorCode === errorCodes.NONE) return decodeAssignment(assignment);
    // Another rebalance began meanwhile; nothing was assigned, so there is nothing to give up.
    if (errorCode === errorCodes.REBALANCE_IN_PROGRESS) return null;
    await this.#refused(errorCode, 'sync', handler);
    return null;
  }

  /** Returns when joining again will do; throws otherwise. */
  async #refused(code: number, step: 'join' | 'sync', handler: GroupHandler): Promise<void> {
    const { groupId } = this.#options;
    const error = brokerError(code, `Group ${groupId} does not let us ${step}`, { group: groupId });
    if (code === errorCodes.UNKNOWN_MEMBER_ID || code === errorCodes.ILLEGAL_GENERATION) {
      if (code === errorCodes.UNKNOWN_MEMBER_ID)
        this.#metadata = { ...this.#metadata, memberId: '' };
      await this.#lose(handler, error);
      return;
    }
    if (code === errorCodes.INCONSISTENT_GROUP_PROTOCOL) {
      throw new AssignmentVersionError(
        `${error.message}: its members assign partitions in another way, such as those of Kafka Streams in Java or ` +
          'of another kind of consumer. Stop them, or give this application another application.id',
        { cause: error, context: { group: groupId } },
      );
    }
    if (code === errorCodes.FENCED_INSTANCE_ID) await this.#lose(handler, error);
    if (isCoordinatorMoved(code)) this.#coordinator.forget();
    if (code === errorCodes.REBALANCE_IN_PROGRESS)
      throw new RebalanceInProgressError(error.message);
    throw error;
  }

  async #assign(
    handler: GroupHandler,
    members: JoinGroupResponse['members'],
  ): Promise<{ memberId: string; assignment: Buffer }[]> {
    const subscriptions = members.map(({ memberId, groupInstanceId, metadata }) =>
      decodeSubscription(memberId, groupInstanceId, metadata),
    );
    const { rebalanceTimeoutMs } = this.#options;
    const overrun = new RebalanceInProgressError(
      `The assignment was not made within ${rebalanceTimeoutMs} ms`,
    );
    const made = await this.#sleeper.within(
      rebalanceTimeoutMs,
      handler.assign(subscriptions),
      () => overrun,
    );
    return members.map(({ memberId }) => {
      const assignment = made.get(memberId);
      const bytes = assignment === undefined ? Buffer.alloc(0) : encodeAssignment(assignment);
      return { memberId, assignment: bytes };
    });
  }

  /** Waits for a handler; false when it takes longer than the rebalance timeout. */
  async #handled(name: string, work: Promise<void>): Promise<boolean> {
    const { rebalanceTimeoutMs } = this.#options;
    const overrun = new TimeoutError(`${name} takes longer than ${rebalanceTimeoutMs} ms`);
    try {
      await this.#sleeper.within(rebalanceTimeoutMs, work, () => overrun);
      return true;
    } catch (error) {
      if (error !== overrun) throw error;
      return false;
    }
  }

  /** The group has gone on without us by now. */
  #raiseOverrun(name: string): void {
    const { groupId, rebalanceTimeoutMs } = this.#options;
    const error = new TimeoutError(
      `${name} was not done within the rebalance timeout of ${rebalanceTimeoutMs} ms: group ${groupId} goes on without this member`,
      { context: { group: groupId } },
    );
    this.#raise({ kind: 'lost', error });
  }

  async #lose(handler: GroupHandler, error: Error): Promise<void> {
    const { groupId } = this.#options;
    this.#heartbeats.stop();
    this.#metadata = { ...this.#metadata, generation: NO_GENERATION };
    if (!this.#hasAssignment) return;
    this.#hasAssignment = false;
    this.#context.logger.info({ err: error, groupId }, 'membership lost');
    if (await this.#handled('onLost', handler.onLost(error))) return;
    throw new TimeoutError(`onLost of group ${groupId} does not end`, { cause: error });
  }

  // ------------------------------------------------------------------------------------- signals

  #raise(signal: Signal): void {
    if (this.#signal?.kind === 'lost') return;
    this.#signal = signal;
    this.#onSignal?.();
  }

  #nextSignal(): Promise<Signal> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        if (this.#isEnding()) reject(new ShutdownError('The member leaves'));
        else if (this.#signal === null) return;
        else resolve(this.#signal);
        this.#onSignal = null;
      };
      this.#onSignal = look;
      look();
    });
  }

  #heartbeatAnswered(code: number): void {
    if (code === errorCodes.NONE || code === errorCodes.COORDINATOR_LOAD_IN_PROGRESS) return;
    const { groupId } = this.#options;
    const error = brokerError(code, `Heartbeat of group ${groupId}`, { group: groupId });
    if (code === errorCodes.REBALANCE_IN_PROGRESS) {
      this.rejoin('the group rebalances');
    } else if (code === errorCodes.FENCED_INSTANCE_ID) {
      this.#fenced(error);
    } else if (isMembershipLost(code)) {
      if (code === errorCodes.UNKNOWN_MEMBER_ID)
        this.#metadata = { ...this.#metadata, memberId: '' };
      this.#raise({ kind: 'lost', error });
    } else if (isCoordinatorMoved(code)) {
      this.#coordinator.forget();
    } else if (!error.retriable) {
      this.#die(error);
    }
  }

  /** Another process has joined under our instance id; to join again would only fence that one. */
  #fenced(error: Error): void {
    const handler = this.#handler;
    if (handler === null) return;
    this.#lose(handler, error).then(
      () => {
        this.#die(error);
      },
      (failure: unknown) => {
        this.#die(failure instanceof Error ? failure : error);
      },
    );
  }

  #die(error: Error): void {
    if (this.#isEnding() || this.#state === 'failed') return;
    this.#to('failed');
    this.#heartbeats.stop();
    this.#sleeper.close();
    this.#onSignal?.();
    this.#handler?.onFatal(error);
  }

  #isEnding(): boolean {
    return this.#state === 'leaving' || this.#state === 'left' || this.#state === 'failed';
  }

  #to(state: MemberState): void {
    if (this.#isEnding() && state !== 'leaving' && state !== 'left') {
      throw new ShutdownError(`The member of group ${this.#options.groupId} has left`);
    }
    if (!memberTransitions[this.#state].includes(state)) {
      throw new InvariantError(`A group member does not go from ${this.#state} to ${state}`);
    }
    this.#state = state;
  }

  async #sendLeave(timeoutMs: number): Promise<void> {
    const { groupId, groupInstanceId } = this.#options;
    const { memberId } = this.#metadata;
    const nodeId = await this.#coordinator.find();
    await this.#context.transport.send(
      nodeId,
      groupInstanceId === null ? apiUses.leaveGroup : apiUses.removeMembers,
      (version) =>
        version >= 3
          ? { groupId, members: [{ memberId, groupInstanceId }] }
          : { groupId, memberId },
      { timeoutMs },
    );
  }
}

function isLoading(error: StreamsError): boolean {
  return error instanceof RebalanceInProgressError;
}
