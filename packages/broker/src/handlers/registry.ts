import type { Api } from '@millrace/protocol';
import { BrokerInvariantError } from '../errors.ts';
import type { Handler, HandlerResult, RequestContext } from './handler.ts';

/** A handler whose types are forgotten: what the server holds. */
export interface RegisteredHandler {
  readonly api: Api<unknown, unknown>;
  readonly minVersion: number;
  readonly maxVersion: number;
  readonly advertisedMinVersion?: number;
  handle(request: unknown, context: RequestContext): HandlerResult<unknown>;
}

/** The handlers by API key. The server knows handlers through this class only. */
export class HandlerRegistry {
  readonly #handlers = new Map<number, RegisteredHandler>();

  register<Request, Response>(handler: Handler<Request, Response>): this {
    const { api, minVersion, maxVersion } = handler;
    if (this.#handlers.has(api.key)) {
      throw new BrokerInvariantError(`two handlers for API key ${api.key} (${api.name})`);
    }
    if (maxVersion > api.maxVersion || minVersion > maxVersion) {
      throw new BrokerInvariantError(
        `handler of ${api.name} serves ${minVersion}-${maxVersion}, its schema ends at ${api.maxVersion}`,
      );
    }
    this.#handlers.set(api.key, handler);
    return this;
  }

  get(apiKey: number): RegisteredHandler | undefined {
    return this.#handlers.get(apiKey);
  }

  /** In the order of API keys, as ApiVersions lists them. */
  all(): RegisteredHandler[] {
    return [...this.#handlers.values()].sort((a, b) => a.api.key - b.api.key);
  }
}
