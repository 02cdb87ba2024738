import { setTimeout as sleep } from 'node:timers/promises';
import {
  BrokerError,
  createLogger,
  holdLocalState,
  type ClusterAdmin,
  type HeldLocalState,
} from '@millrace/runtime/cluster';
import { CommandError, messageOf } from './errors.ts';
import { GROUP_POLL_MS } from './limits.ts';
import { commitPlan } from './offset-plan.ts';
import { activeApplication, refusePending, type ResetPlan } from './reset-plan.ts';
import { counted } from './table.ts';

interface Execution {
  readonly stateDir: string | null;
  /** Longest wait for the members that were removed to be gone. */
  readonly timeoutMs: number;
  /** Done again, a shift would shift once more. */
  readonly isRepeatable: boolean;
}

/**
 * Does what the plan says. The offsets are first: brokers refuse them while the group has members, so
 * nothing is deleted under a running application. What is done already when something fails stays done,
 * and the error says how to go on.
 */
export async function executeReset(
  cluster: ClusterAdmin,
  plan: ResetPlan,
  { stateDir, timeoutMs, isRepeatable }: Execution,
): Promise<void> {
  const { applicationId } = plan;
  const state = await hold(plan, stateDir);
  try {
    await removeMembers(cluster, plan, timeoutMs);
    await commitPlan(cluster, applicationId, plan.offsets, () =>
      activeApplication(applicationId, 'active again', []),
    );
    try {
      await deleteTopics(cluster, plan);
      state?.remove();
    } catch (error) {
      throw halfDone(error, plan, isRepeatable);
    }
  } finally {
    await state?.release();
  }
}

/** From here on no instance begins on that directory. */
async function hold(
  { applicationId, localState }: ResetPlan,
  stateDir: string | null,
): Promise<HeldLocalState | null> {
  if (localState === null || stateDir === null) return null;
  return holdLocalState({ stateDir, applicationId, logger: createLogger({ level: 'silent' }) });
}

async function removeMembers(
  cluster: ClusterAdmin,
  plan: ResetPlan,
  timeoutMs: number,
): Promise<void> {
  const { applicationId, membersToRemove } = plan;
  if (membersToRemove.length === 0) return;
  await cluster.groups.removeMembers(applicationId, membersToRemove);
  const startedAt = performance.now();
  for (;;) {
    const { state, members } = await cluster.groups.describe(applicationId);
    if (state === 'Empty' || state === 'Dead') break;
    if (performance.now() - startedAt > timeoutMs) {
      throw activeApplication(applicationId, `${state} although its members were removed`, members);
    }
    await sleep(GROUP_POLL_MS);
  }
  // What a member did in its last moment may have been a commit.
  await refusePending(cluster, plan, new Map());
}

async function deleteTopics(cluster: ClusterAdmin, { topicsToDelete }: ResetPlan): Promise<void> {
  if (topicsToDelete.length === 0) return;
  const outcomes = await cluster.topics.delete(topicsToDelete.map(({ topic }) => topic.topic));
  const failures = [...outcomes.values()].filter((error) => error !== null && !isGone(error));
  if (failures.length === 0) return;
  const lines = failures.map(messageOf);
  throw new CommandError(
    'COMMAND_REFUSED',
    `${counted(failures.length, 'internal topic')} could not be deleted:\n${lines.join('\n')}`,
  );
}

/** Somebody else has deleted it meanwhile. */
function isGone(error: Error): boolean {
  return error instanceof BrokerError && error.kafkaName === 'UNKNOWN_TOPIC_OR_PARTITION';
}

function halfDone(error: unknown, { offsets }: ResetPlan, isRepeatable: boolean): CommandError {
  const again =
    isRepeatable || offsets.length === 0
      ? 'Do not start the application before the same reset, run again, has succeeded.'
      : 'Do not start the application before the rest is reset: run it again, without the input topics, whose offsets are shifted already.';
  const code = error instanceof CommandError ? error.code : 'COMMAND_REFUSED';
  return new CommandError(code, `${messageOf(error)}\n${again}`, { cause: error });
}
