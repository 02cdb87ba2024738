import type { Logger } from 'pino';

/** Counts a task's dropped records and logs them: at warn once per node and reason, then at debug. */
export class DroppedRecords {
  readonly #logger: Logger;
  readonly #seen = new Set<string>();
  #count = 0;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  get count(): number {
    return this.#count;
  }

  record(node: string, reason: string, where: Readonly<Record<string, unknown>>): void {
    this.#count++;
    const key = `${node}\n${reason}`;
    if (this.#seen.has(key)) {
      if (this.#logger.isLevelEnabled('debug')) {
        this.#logger.debug({ node, reason, ...where }, 'record dropped');
      }
      return;
    }
    this.#seen.add(key);
    this.#logger.warn(
      { node, reason, ...where },
      'record dropped; further ones for this reason are logged at debug',
    );
  }
}
