import {
  decodeRequest,
  decodeRequestHeader,
  encodeResponse,
  errorCodes,
  ProtocolError,
  type Api,
} from '@millrace/protocol';
import type { ClientConnection, RequestContext } from '../handlers/handler.ts';
import type { HandlerRegistry, RegisteredHandler } from '../handlers/registry.ts';
import type { BrokerServices } from '../services.ts';
import { withShortMessages } from './short-messages.ts';

const API_VERSIONS_KEY = 18;

/** The frame is no request that this broker can answer; the connection has to go. */
export class RequestRefusedError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'RequestRefusedError';
  }
}

/** The chunks of an answer, or null if none is sent. */
export type DispatchResult = Buffer[] | null | Promise<Buffer[] | null>;

/** Turns one frame into one answer. Throws, or rejects, if there is none to give. */
export class Dispatcher {
  readonly #registry: HandlerRegistry;
  readonly #broker: BrokerServices;

  constructor(registry: HandlerRegistry, broker: BrokerServices) {
    this.#registry = registry;
    this.#broker = broker;
  }

  dispatch(frame: Buffer, connection: ClientConnection): DispatchResult {
    if (frame.length < 8) {
      throw new RequestRefusedError(`a frame of ${frame.length} bytes holds no request header`);
    }
    const apiKey = frame.readInt16BE(0);
    const apiVersion = frame.readInt16BE(2);
    const handler = this.#registry.get(apiKey);
    if (handler === undefined) {
      throw new RequestRefusedError(`unknown API key ${apiKey} (version ${apiVersion})`);
    }
    if (apiVersion < handler.minVersion || apiVersion > handler.maxVersion) {
      if (apiKey === API_VERSIONS_KEY) {
        return this.#unsupportedApiVersions(handler, frame.readInt32BE(4));
      }
      throw new RequestRefusedError(
        `${handler.api.name} version ${apiVersion} is not served, only ${handler.minVersion} to ${handler.maxVersion}`,
      );
    }
    const { request, clientId, correlationId } = decode(handler, apiVersion, frame);
    const context: RequestContext = { apiVersion, clientId, connection, broker: this.#broker };
    const result = handler.handle(request, context);
    if (result instanceof Promise) {
      return result.then((response) => encode(handler.api, apiVersion, correlationId, response));
    }
    return encode(handler.api, apiVersion, correlationId, result);
  }

  /** KIP-511: the answer has version 0, names the error, and lists what can be asked instead. */
  #unsupportedApiVersions(handler: RegisteredHandler, correlationId: number): Buffer[] {
    const { api, minVersion, maxVersion } = handler;
    return encodeResponse(api, 0, correlationId, {
      errorCode: errorCodes.UNSUPPORTED_VERSION,
      apiKeys: [{ apiKey: api.key, minVersion, maxVersion }],
    });
  }
}

interface DecodedRequest {
  readonly request: unknown;
  readonly clientId: string | null;
  readonly correlationId: number;
}

function decode({ api }: RegisteredHandler, apiVersion: number, frame: Buffer): DecodedRequest {
  try {
    const { clientId, correlationId, bodyPosition } = decodeRequestHeader(frame);
    const request = decodeRequest(api, apiVersion, frame, bodyPosition);
    return { request, clientId, correlationId };
  } catch (error) {
    throw new RequestRefusedError(
      `undecodable ${api.name} request of version ${apiVersion}: ${(error as Error).message}`,
      { cause: error },
    );
  }
}

function encode(
  api: Api<unknown, unknown>,
  apiVersion: number,
  correlationId: number,
  response: unknown,
): Buffer[] | null {
  if (response === null) return null;
  try {
    return encodeResponse(api, apiVersion, correlationId, response);
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    // Error messages repeat what the request named, and may be too long for it.
    return encodeResponse(api, apiVersion, correlationId, withShortMessages(response));
  }
}
