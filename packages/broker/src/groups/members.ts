import type { DescribedMember, JoinProtocol, JoinResult, SyncResult } from './group-service.ts';
import type { Parked } from './parked.ts';
import type { Deadline } from '../timers.ts';

export const EMPTY_BYTES = Buffer.alloc(0);

export interface MemberIdentity {
  readonly memberId: string;
  readonly groupInstanceId: string | null;
  readonly clientId: string;
  readonly clientHost: string;
}

export interface MemberTerms {
  readonly rebalanceTimeoutMs: number;
  readonly sessionTimeoutMs: number;
  readonly protocols: readonly JoinProtocol[];
}

/** One member of a classic group. Its parked requests are owned by the group, which counts them. */
export class GroupMember {
  readonly memberId: string;
  /** Not null: a static member (KIP-345), which a rebalance timeout does not remove. */
  readonly groupInstanceId: string | null;
  readonly clientId: string;
  readonly clientHost: string;
  readonly session: Deadline;
  rebalanceTimeoutMs: number;
  sessionTimeoutMs: number;
  protocols: readonly JoinProtocol[];
  assignment: Buffer = EMPTY_BYTES;
  /** Has never been answered, so it may be gone while its join is still parked. */
  isNew = false;
  /** The client has its id from an earlier answer; without, nobody can come back under it. */
  isIdKnown = true;
  awaitingJoin: Parked<JoinResult> | null = null;
  awaitingSync: Parked<SyncResult> | null = null;

  constructor(identity: MemberIdentity, terms: MemberTerms, session: Deadline) {
    this.memberId = identity.memberId;
    this.groupInstanceId = identity.groupInstanceId;
    this.clientId = identity.clientId;
    this.clientHost = identity.clientHost;
    this.session = session;
    this.rebalanceTimeoutMs = terms.rebalanceTimeoutMs;
    this.sessionTimeoutMs = terms.sessionTimeoutMs;
    this.protocols = copyProtocols(terms.protocols);
  }

  get isStatic(): boolean {
    return this.groupInstanceId !== null;
  }

  /** Whoever waits in a rebalance is alive; a new member may have gone in spite of it. */
  get isHeldByRebalance(): boolean {
    return !this.isNew && (this.awaitingJoin !== null || this.awaitingSync !== null);
  }

  setTerms(terms: MemberTerms): void {
    this.rebalanceTimeoutMs = terms.rebalanceTimeoutMs;
    this.sessionTimeoutMs = terms.sessionTimeoutMs;
    this.protocols = copyProtocols(terms.protocols);
  }

  /** Same protocols, same order, same bytes. */
  hasProtocols(protocols: readonly JoinProtocol[]): boolean {
    return (
      protocols.length === this.protocols.length &&
      protocols.every((protocol, index) => {
        const own = this.protocols[index];
        return own?.name === protocol.name && own.metadata.equals(protocol.metadata);
      })
    );
  }

  /** The member's metadata for a protocol; empty when it has none. */
  metadataFor(protocolName: string | null): Buffer {
    return this.protocols.find(({ name }) => name === protocolName)?.metadata ?? EMPTY_BYTES;
  }

  /** The first of its protocols that is among the candidates. */
  vote(candidates: ReadonlySet<string>): string | undefined {
    return this.protocols.find(({ name }) => candidates.has(name))?.name;
  }

  /** Metadata is shown of a stable group only, when there is a chosen protocol. */
  describe(protocolName: string | null): DescribedMember {
    return {
      memberId: this.memberId,
      groupInstanceId: this.groupInstanceId,
      clientId: this.clientId,
      clientHost: this.clientHost,
      memberMetadata: protocolName === null ? EMPTY_BYTES : this.metadataFor(protocolName),
      memberAssignment: this.assignment,
    };
  }
}

/** Request bytes are views of the whole frame, which a long-lived member must not keep alive. */
function copyProtocols(protocols: readonly JoinProtocol[]): readonly JoinProtocol[] {
  return protocols.map(({ name, metadata }) => ({ name, metadata: Buffer.from(metadata) }));
}
