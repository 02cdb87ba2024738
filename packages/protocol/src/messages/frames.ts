import { Reader } from '../bytes/reader.ts';
import { TruncatedError } from '../bytes/protocol-error.ts';
import { apiKeyName } from '../api-keys.ts';
import { ApiVersions } from './api-versions.ts';
import { apis } from './apis.ts';
import type { Encodable } from './field.ts';
import { MAX_REQUEST_ELEMENTS, MIN_CHUNK_BYTES } from './limits.ts';
import { encodeMessage, readMessage, writeMessage } from './message.ts';
import { MessageWriter } from './message-writer.ts';
import type { Api } from './schema.ts';
import { skipTaggedFields } from './tagged-fields.ts';
import { UnsupportedVersionError } from './unsupported-version-error.ts';

/** What a client says of a request beside its API and version. */
export interface RequestOrigin {
  readonly correlationId: number;
  readonly clientId: string | null;
}

export interface RequestHeader extends RequestOrigin {
  readonly apiKey: number;
  readonly apiVersion: number;
  /** Where in the frame the body starts. */
  readonly bodyPosition: number;
}

/** Key, version and correlation id: the part of a header that all its versions have. */
const REQUEST_PREFIX_BYTES = 8;

/** The code of UNSUPPORTED_VERSION, with which a broker answers in version 0 of ApiVersions. */
const UNSUPPORTED_VERSION = 35;

/**
 * A whole request with its 4-byte size in front. Large `bytes` and `records` are chunks of their
 * own, which are not copied: leave them unchanged until the chunks are sent.
 *
 * @throws ProtocolError naming API, version and field
 */
export function encodeRequest<Req>(
  api: Api<Req, unknown>,
  version: number,
  header: RequestOrigin,
  body: Encodable<Req>,
): Buffer[] {
  const writer = new MessageWriter(MIN_CHUNK_BYTES);
  writer.writeInt32(0);
  writer.writeInt16(api.key);
  writer.writeInt16(version);
  writer.writeInt32(header.correlationId);
  writer.writeNullableString(header.clientId);
  if (version >= api.flexibleFrom) writer.writeUnsignedVarint(0);
  writeMessage(writer, api.request, version, body);
  return frame(writer);
}

/**
 * The body of a request alone, in one buffer. For whoever writes the header: from
 * `api.flexibleFrom` on, that ends with a section of tagged fields (one zero byte when empty).
 */
export function encodeRequestBody<Req>(
  api: Api<Req, unknown>,
  version: number,
  body: Encodable<Req>,
): Buffer {
  return encodeMessage(api.request, version, body);
}

/**
 * @param frame a request without its size
 * @throws UnsupportedVersionError for an API or version that is not declared
 * @throws ProtocolError for a header that is cut or malformed
 */
export function decodeRequestHeader(frame: Buffer): RequestHeader {
  if (frame.length < REQUEST_PREFIX_BYTES) {
    throw new TruncatedError(
      `a request of ${frame.length} bytes is shorter than its header; the peer does not speak Kafka's protocol`,
    );
  }
  const reader = new Reader(frame);
  const apiKey = reader.readInt16();
  const apiVersion = reader.readInt16();
  const correlationId = reader.readInt32();
  const api = apis.get(apiKey);
  if (api === undefined) {
    throw new UnsupportedVersionError(
      apiKey,
      apiVersion,
      correlationId,
      `${apiKeyName(apiKey)} (key ${apiKey}) is not known here`,
    );
  }
  if (!api.request.supports(apiVersion)) {
    throw new UnsupportedVersionError(
      apiKey,
      apiVersion,
      correlationId,
      `${api.name} version ${apiVersion} is not known; known are ${api.minVersion} to ${api.maxVersion}`,
    );
  }
  const clientId = reader.readNullableString();
  if (apiVersion >= api.flexibleFrom) skipTaggedFields(reader);
  return { apiKey, apiVersion, correlationId, clientId, bodyPosition: reader.position };
}

/** @param bodyPosition as `decodeRequestHeader` gave it */
export function decodeRequest<Req>(
  api: Api<Req, unknown>,
  version: number,
  frame: Buffer,
  bodyPosition: number,
): Req {
  const reader = new Reader(frame, bodyPosition);
  reader.elementsLeft = MAX_REQUEST_ELEMENTS;
  return readMessage(reader, api.request, version);
}

/**
 * A whole response with its 4-byte size in front; chunks as for `encodeRequest`.
 *
 * @throws ProtocolError naming API, version and field
 */
export function encodeResponse<Res>(
  api: Api<unknown, Res>,
  version: number,
  correlationId: number,
  body: Encodable<Res>,
): Buffer[] {
  const writer = new MessageWriter(MIN_CHUNK_BYTES);
  writer.writeInt32(0);
  writer.writeInt32(correlationId);
  if (hasFlexibleResponseHeader(api, version)) writer.writeUnsignedVarint(0);
  writeMessage(writer, api.response, version, body);
  return frame(writer);
}

/**
 * @param payload what follows the correlation id: the header's tagged fields, if that version has
 *   them, and the body
 */
export function decodeResponse<Res>(api: Api<unknown, Res>, version: number, payload: Buffer): Res {
  const reader = new Reader(payload);
  if (hasFlexibleResponseHeader(api, version)) skipTaggedFields(reader);
  return readMessage(reader, api.response, answeredVersion(api, version, payload));
}

/** KIP-511: ApiVersions keeps the header of version 0, as its sender may not know the broker yet. */
function hasFlexibleResponseHeader(api: Api<unknown, unknown>, version: number): boolean {
  return version >= api.flexibleFrom && api.key !== ApiVersions.key;
}

/** A broker that does not know the version of an ApiVersions request answers in version 0 (KIP-511). */
function answeredVersion(api: Api<unknown, unknown>, version: number, payload: Buffer): number {
  const isRefused =
    api.key === ApiVersions.key &&
    payload.length >= 2 &&
    payload.readInt16BE(0) === UNSUPPORTED_VERSION;
  return isRefused ? 0 : version;
}

function frame(writer: MessageWriter): Buffer[] {
  writer.setFrameSize();
  return writer.toChunks();
}
