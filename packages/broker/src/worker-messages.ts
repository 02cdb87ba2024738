import type { CleanerMetric, CleanerStatus } from '@millrace/compaction';
import type { BrokerConfigInput } from './config.ts';

/** What the thread is started with. */
export interface WorkerData {
  readonly dataDir: string;
  readonly host: string;
  readonly port: number;
  readonly config: BrokerConfigInput;
  /** pino's level; lines below it never leave the thread. */
  readonly logLevel: string;
}

export interface WorkerErrorMessage {
  readonly name: string;
  readonly code: string;
  readonly message: string;
  readonly stack: string;
}

/** What the thread can be asked, with the type of its answer. */
export interface Answers {
  readonly metrics: readonly CleanerMetric[];
  readonly cleanerStatus: CleanerStatus;
}

export type ToWorker =
  | { readonly type: 'close' }
  | { readonly type: 'ask'; readonly id: number; readonly question: keyof Answers };

export type FromWorker =
  | { readonly type: 'ready'; readonly port: number; readonly clusterId: string }
  | { readonly type: 'failed'; readonly error: WorkerErrorMessage }
  | { readonly type: 'stopped'; readonly error: WorkerErrorMessage | null }
  | { readonly type: 'answer'; readonly id: number; readonly answer: Answers[keyof Answers] }
  | { readonly type: 'refused'; readonly id: number; readonly error: WorkerErrorMessage }
  /** One line of pino's JSON. */
  | { readonly type: 'log'; readonly line: string };

export function toErrorMessage(error: unknown): WorkerErrorMessage {
  const { name, code, message, stack } = error as Error & { code?: unknown };
  return {
    name,
    code: typeof code === 'string' ? code : 'BROKER_START_FAILED',
    message,
    stack: stack ?? '',
  };
}
