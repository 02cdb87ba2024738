import { BrokerInvariantError } from '../errors.ts';
import type { JoinProtocol } from './group-service.ts';
import type { GroupMember } from './members.ts';

/** How many members offer each protocol, and the election among those that all offer. */
export class ProtocolVotes {
  readonly #counts = new Map<string, number>();

  add(protocols: readonly JoinProtocol[]): void {
    for (const name of namesOf(protocols))
      this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  remove(protocols: readonly JoinProtocol[]): void {
    for (const name of namesOf(protocols)) {
      const count = (this.#counts.get(name) ?? 0) - 1;
      if (count > 0) this.#counts.set(name, count);
      else this.#counts.delete(name);
    }
  }

  /** Whether one of these is offered by all `memberCount` members. */
  areShared(protocols: readonly JoinProtocol[], memberCount: number): boolean {
    return protocols.some(({ name }) => (this.#counts.get(name) ?? 0) === memberCount);
  }

  /** At equal votes the one that was voted for first. */
  elect(groupId: string, members: ReadonlyMap<string, GroupMember>): string {
    const candidates = new Set<string>();
    for (const [name, count] of this.#counts) if (count === members.size) candidates.add(name);
    const votes = new Map<string, number>();
    for (const member of members.values()) {
      const vote = member.vote(candidates);
      if (vote === undefined) {
        throw new BrokerInvariantError(
          `group ${groupId}: member ${member.memberId} shares no protocol with the others`,
        );
      }
      votes.set(vote, (votes.get(vote) ?? 0) + 1);
    }
    let elected: string | undefined;
    let most = 0;
    for (const [name, count] of votes) {
      if (count > most) [elected, most] = [name, count];
    }
    if (elected === undefined) {
      throw new BrokerInvariantError(`group ${groupId} has no members to elect a protocol`);
    }
    return elected;
  }
}

/** A member that names a protocol twice still has one vote for it. */
function namesOf(protocols: readonly JoinProtocol[]): Set<string> {
  return new Set(protocols.map(({ name }) => name));
}
