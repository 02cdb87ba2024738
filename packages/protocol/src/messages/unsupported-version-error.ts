import { ProtocolError } from '../bytes/protocol-error.ts';

/**
 * A request of an API or a version that is not declared here. Kafka's answer is
 * UNSUPPORTED_VERSION for ApiVersions (in its version 0, whatever was asked) and a closed
 * connection for all others.
 */
export class UnsupportedVersionError extends ProtocolError {
  readonly apiKey: number;
  readonly apiVersion: number;
  /** Of the request, so that it can be answered. */
  readonly correlationId: number;

  constructor(apiKey: number, apiVersion: number, correlationId: number, what: string) {
    super('PROTOCOL_UNSUPPORTED_VERSION', what);
    this.name = 'UnsupportedVersionError';
    this.apiKey = apiKey;
    this.apiVersion = apiVersion;
    this.correlationId = correlationId;
  }
}
