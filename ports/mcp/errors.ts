import {
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UnauthorizedError,
  UnsupportedProtocolVersionError,
} from '@modelcontextprotocol/client';
import { EgressRefused, EgressUnreachable } from '../egress/egress.ts';
import { McpTooMuch, type WireState } from './fetch.ts';

export type McpErrorKind =
  /** 401, or 403 because of missing scopes: the credential is not, or no longer, accepted. */
  | 'unauthorized'
  /** A secret that the toolkit names has no value. */
  | 'secret_missing'
  /** The server no longer knows the session; the request was not processed. */
  | 'session_lost'
  | 'protocol_unsupported'
  /** The server answered the request with a JSON-RPC error. */
  | 'refused'
  /** An HTTP status that is no answer. */
  | 'status'
  /** The server requires input from a person or a model before it continues. */
  | 'input_required'
  | 'timed_out'
  /** The answer does not follow the protocol. */
  | 'malformed';

/** How an exchange with an MCP server failed. The message may quote the server, at most 500 characters. */
export class McpError extends Error {
  override readonly name = 'McpError';
  readonly kind: McpErrorKind;
  /** HTTP status, or code of the JSON-RPC error. */
  readonly code: number | null;
  /** `WWW-Authenticate` of a refusal. */
  readonly challenge: string | null;

  constructor(
    kind: McpErrorKind,
    message: string,
    { code = null, challenge = null }: { code?: number | null; challenge?: string | null } = {},
  ) {
    // Stored in rows, which hold no U+0000.
    super(message.slice(0, 500).toWellFormed().replaceAll('\0', '\uFFFD'));
    this.kind = kind;
    this.code = code;
    this.challenge = challenge;
  }
}

export interface FailedTalk {
  readonly wire: WireState;
  /** Whether the transport held a session when the request left. */
  readonly hadMcpSession: boolean;
}

/** Maps an error of the SDK to one of ours, or to one of the egress guard's. */
export function toMcpError(error: unknown, { wire, hadMcpSession }: FailedTalk): Error {
  for (let at: unknown = error; at instanceof Error; at = at.cause)
    if (at instanceof McpError || at instanceof EgressRefused || at instanceof EgressUnreachable || at instanceof McpTooMuch) return at;
  if (wire.failure instanceof Error) return wire.failure;

  if (wire.status === 401 || UnauthorizedError.isInstance(error))
    return new McpError('unauthorized', 'the server asks for authorization', { code: 401, challenge: wire.challenge });
  if (wire.status === 404 && hadMcpSession) return new McpError('session_lost', 'the server does not know the session any more');
  if (UnsupportedProtocolVersionError.isInstance(error)) return unsupported();
  if (ProtocolError.isInstance(error)) return new McpError('refused', error.message, { code: error.code });
  if (SdkHttpError.isInstance(error)) return new McpError('status', `the server answered ${error.status}`, { code: error.status });
  if (SdkError.isInstance(error)) return ofSdk(error);
  // The only plain Error of a handshake: the server requires a version that we do not support.
  if (error instanceof Error && error.message.includes('protocol version is not supported')) return unsupported();
  if (wire.status !== null && wire.status >= 400)
    return new McpError('status', `the server answered ${wire.status}`, { code: wire.status });
  return new McpError('malformed', 'the answer of the server is not of the protocol');
}

function ofSdk(error: SdkError): McpError {
  switch (error.code) {
    case SdkErrorCode.RequestTimeout:
      return new McpError('timed_out', 'the server did not answer in time');
    case SdkErrorCode.UnsupportedResultType:
    case SdkErrorCode.InputRequiredRoundsExceeded:
      return new McpError('input_required', 'the server asks for input in the middle of the call, which is not supported');
    case SdkErrorCode.EraNegotiationFailed:
    case SdkErrorCode.MethodNotSupportedByProtocolVersion:
      return unsupported();
    default:
      return new McpError('malformed', 'the answer of the server is not of the protocol');
  }
}

function unsupported(): McpError {
  return new McpError('protocol_unsupported', 'the server speaks no protocol version from 2024-10-07 to 2026-07-28');
}
