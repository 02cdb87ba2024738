import { setTimeout as sleep } from 'node:timers/promises';
import { TimeoutError } from '@millrace/runtime';

/** Of so many records, one fails, the first time that a life of an instance sees it. */
const FAILS_ONE_IN = 1_499;
/** Of so many records, one is asynchronous. */
const ASYNCHRONOUS_ONE_IN = 89;
const ASYNCHRONOUS_MAX_MS = 25;
/** A prime, so that what is spread over accounts and orders hits all of them. */
const SPREAD = 7_919;

/** What user functions do to an application: they fail for a while, and they make it wait. */
export class Trouble {
  readonly #failed = new Set<string>();

  /** Fails for some records, once each: whatever was done since the last commit is to be undone. */
  maybeFail(where: string, account: string, order: number): void {
    if (spread(where, account, order) % FAILS_ONE_IN !== 0) return;
    const record = `${where} ${account} ${order}`;
    if (this.#failed.has(record)) return;
    this.#failed.add(record);
    throw new TimeoutError(`${record} fails the first time`);
  }

  /** Takes its time for some records. */
  maybeWait<T>(account: string, order: number, result: T): T | Promise<T> {
    const number = spread('wait', account, order);
    if (number % ASYNCHRONOUS_ONE_IN !== 0) return result;
    return sleep(number % ASYNCHRONOUS_MAX_MS, result);
  }
}

function spread(where: string, account: string, order: number): number {
  const accountNumber = Number(account.slice(account.indexOf('-') + 1));
  return (order * SPREAD + accountNumber * 104_729 + where.length * 31) >>> 3;
}
