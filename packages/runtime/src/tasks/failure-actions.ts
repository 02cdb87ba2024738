import {
  RebalanceInProgressError,
  StreamsError,
  TaskCorruptedError,
  TaskMigratedError,
} from '../errors.ts';

/** What a stream thread does about an error. */
export type FailureAction =
  /** Nothing is lost: try again at the next pass. */
  | 'retry'
  /** Nothing was committed; the group is about to say more. */
  | 'wait'
  /** The tasks belong to others by now: close them as they are, and join again. */
  | 'rejoin'
  /** The task's state is wiped and restored. */
  | 'revive'
  /** The thread ends with the error. */
  | 'fail';

/**
 * The one table from error class to action:
 *
 * | class | action |
 * |---|---|
 * | RebalanceInProgressError | wait |
 * | TaskMigratedError | rejoin |
 * | TaskCorruptedError | revive |
 * | any other StreamsError that says that it is retriable | retry, until `task.timeout.ms` |
 * | everything else | fail |
 */
export function actionFor(error: unknown): FailureAction {
  if (error instanceof RebalanceInProgressError) return 'wait';
  if (error instanceof TaskMigratedError) return 'rejoin';
  if (error instanceof TaskCorruptedError) return 'revive';
  if (error instanceof StreamsError && error.retriable) return 'retry';
  return 'fail';
}
