import type { IncomingHttpHeaders } from 'node:http';
import { isJson, rpcCodes, RpcError, type Json, type RpcMessage } from './json-rpc.ts';

/** Revisions with a handshake and an MCP session, newest first. */
export const sessionVersions = ['2025-11-25', '2025-06-18', '2025-03-26'] as const;
/** Revisions in which each request is self-contained, newest first. */
export const statelessVersions = ['2026-07-28'] as const;

export const metaKeys = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
} as const;

export type Era = 'session' | 'stateless';

type Headers = Readonly<IncomingHttpHeaders>;

/** The parameter of each method whose value the header Mcp-Name repeats. */
const nameFields: Readonly<Record<string, string>> = { 'tools/call': 'name', 'prompts/get': 'name', 'resources/read': 'uri' };

/**
 * Returns the era whose rules apply to a message: `stateless` if its `_meta` names a revision or its header a stateless one, else `session`. Throws RpcError
 * 400 for a version that is not served, for an incomplete `_meta`, and where header and body disagree.
 */
export function eraOf(message: RpcMessage, headers: Headers): Era {
  if (message.kind === 'response') return 'session';
  const named = headerOf(headers, 'mcp-protocol-version');
  const claim = metaOf(message.params)[metaKeys.protocolVersion];
  const isStateless = claim !== undefined || (named !== null && isIn(statelessVersions, named));

  if (!isStateless) {
    if (named !== null && !isSessionVersion(named) && message.method !== 'initialize') throw unsupported(named, sessionVersions);
    return 'session';
  }
  if (message.kind === 'request') demandMeta(message.params);
  checkVersion(named, claim);
  if (message.kind === 'request') checkHeaders(message, headers, named);
  return 'stateless';
}

/** Whether a version is a served revision with sessions. */
export function isSessionVersion(version: string): boolean {
  return isIn(sessionVersions, version);
}

/** Returns `_meta` of a message's parameters; empty if there is none. */
export function metaOf(params: Json): Json {
  const meta = params['_meta'];
  return isJson(meta) ? meta : {};
}

function demandMeta(params: Json): void {
  const meta = metaOf(params);
  const missing = [
    ...(typeof meta[metaKeys.protocolVersion] === 'string' ? [] : [metaKeys.protocolVersion]),
    ...(isJson(meta[metaKeys.clientCapabilities]) ? [] : [metaKeys.clientCapabilities]),
  ];
  if (missing.length === 0) return;
  throw new RpcError(rpcCodes.invalidParams, `_meta lacks ${missing.join(' and ')}.`, { status: 400, details: { missing } });
}

function checkVersion(named: string | null, claim: unknown): void {
  const wanted = typeof claim === 'string' ? claim : named;
  if (named !== null && wanted !== named) throw mismatch('MCP-Protocol-Version names a different revision from _meta.');
  if (wanted !== null && !isIn(statelessVersions, wanted)) throw unsupported(wanted, statelessVersions);
}

/** Intermediaries route by these headers, so a request that lacks them, or whose body contradicts them, is refused. */
function checkHeaders(message: Extract<RpcMessage, { kind: 'request' }>, headers: Headers, named: string | null): void {
  if (named === null) throw mismatch('MCP-Protocol-Version is missing.');
  const method = headerOf(headers, 'mcp-method');
  if (method === null) throw mismatch('Mcp-Method is missing.');
  if (method !== message.method) throw mismatch('Mcp-Method names a different method from the body.');

  const field = Object.hasOwn(nameFields, message.method) ? nameFields[message.method] : undefined;
  const inBody = field === undefined ? undefined : message.params[field];
  if (typeof inBody !== 'string') return;
  const name = headerOf(headers, 'mcp-name');
  if (name === null) throw mismatch('Mcp-Name is missing.');
  if (decoded(name) !== inBody) throw mismatch('Mcp-Name does not match the body.');
}

/** Returns a header's trimmed text; null if it is missing. */
function headerOf(headers: Headers, name: string): string | null {
  const value = headers[name];
  return typeof value === 'string' ? value.trim() : null;
}

/** Decodes `=?base64?…?=`, in which clients send text that a header can't hold; null if the encoding is broken. */
function decoded(value: string): string | null {
  const [, encoded] = /^=\?base64\?(.*)\?=$/.exec(value) ?? [];
  if (encoded === undefined) return value;
  const bytes = Buffer.from(encoded, 'base64');
  return bytes.toString('base64') === encoded ? bytes.toString() : null;
}

function mismatch(text: string): RpcError {
  return new RpcError(rpcCodes.headerMismatch, text, { status: 400 });
}

function unsupported(requested: string, supported: readonly string[]): RpcError {
  return new RpcError(rpcCodes.unsupportedVersion, 'The protocol version is not supported.', {
    status: 400,
    details: { supported: [...supported], requested: requested.slice(0, 100) },
  });
}

function isIn(known: readonly string[], value: string): boolean {
  return known.includes(value);
}
