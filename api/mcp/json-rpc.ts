import type { FastifyReply } from 'fastify';
import { isTag, tagInexact } from '../../workflows/contracts/tools/exact-json.ts';
import { findForbiddenText } from '../http/input/text-scan.ts';

export type Json = Record<string, unknown>;
export type RpcId = string | number;

/** A message from a client. Responses are accepted and ignored, because this server sends no requests. */
export type RpcMessage =
  | { readonly kind: 'request'; readonly id: RpcId; readonly method: string; readonly params: Json }
  | { readonly kind: 'notification'; readonly method: string; readonly params: Json }
  | { readonly kind: 'response' };

export type RpcRequest = Extract<RpcMessage, { kind: 'request' }>;

/** Codes of JSON-RPC 2.0 §5.1 and of MCP 2026-07-28. */
export const rpcCodes = {
  parseError: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  refused: -32_000,
  sessionUnknown: -32_001,
  headerMismatch: -32_020,
  unsupportedVersion: -32_022,
} as const;

/** A protocol error: the message is wrong, not the arguments of its tool. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;
  /** HTTP status of the reply. */
  readonly status: number;
  readonly details: Json | null;

  constructor(code: number, message: string, options: { readonly status?: number; readonly details?: Json } = {}) {
    super(message);
    this.code = code;
    this.status = options.status ?? 200;
    this.details = options.details ?? null;
  }
}

const maxDepth = 64;
/** More tags than a refusal lists. */
const maxTags = 60;
const strictUtf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Parses the body of a POST: one message, or a batch. Throws RpcError 400 for invalid JSON and for deep nesting. Tags the numbers that a double would change,
 * see `refuseTags`.
 */
export function readJson(body: unknown): { readonly value: unknown; readonly hasTags: boolean } {
  let value: unknown;
  let hasTags = false;
  try {
    const text = strictUtf8.decode(Buffer.isBuffer(body) ? body : Buffer.alloc(0));
    const tagged = tagInexact(text, 'all', maxTags);
    hasTags = tagged !== text;
    value = JSON.parse(tagged);
  } catch {
    throw new RpcError(rpcCodes.parseError, 'The body is not valid JSON in UTF-8.', { status: 400 });
  }
  if (!isWithin(value, maxDepth)) throw invalidMessage('The message is nested too deeply.');
  return { value, hasTags };
}

/** Parses a value as one message. Throws RpcError 400 if it is not one. */
export function messageOf(value: unknown): RpcMessage {
  if (!isJson(value) || value['jsonrpc'] !== '2.0') throw invalidMessage('The body is not a JSON-RPC 2.0 message.');

  const { id, method, params } = value;
  if (typeof method !== 'string') {
    if (method === undefined && ('result' in value || 'error' in value)) return { kind: 'response' };
    throw invalidMessage('The message has no method.');
  }
  if (params !== undefined && !isJson(params)) throw invalidMessage('params must be an object.');
  if (id === undefined) return { kind: 'notification', method, params: params ?? {} };
  if (typeof id !== 'string' && (typeof id !== 'number' || !Number.isSafeInteger(id)))
    throw invalidMessage('id must be a string or an integer.');
  return { kind: 'request', id, method, params: params ?? {} };
}

/** Returns the id that a refusal of the message repeats; null if it has none. */
export function idIn(value: unknown): RpcId | null {
  const id = isJson(value) ? value['id'] : null;
  return (typeof id === 'string' && !isTag(id)) || typeof id === 'number' ? id : null;
}

/** Returns a response whose result is JSON text already. */
export function resultText(id: RpcId, result: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`;
}

export function notificationText(method: string, params: Json | null): string {
  return JSON.stringify({ jsonrpc: '2.0', method, ...(params ? { params } : {}) });
}

export function sendJson(reply: FastifyReply, text: string, status = 200): FastifyReply {
  return reply.code(status).header('content-type', 'application/json; charset=utf-8').send(text);
}

/** Returns an error response. */
export function errorText(id: RpcId | null, { code, message, details }: RpcError): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, ...(details ? { data: details } : {}) } });
}

export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Throws RpcError 400 for a tag outside the arguments of a tool; the parser of the arguments reports those inside. */
export function refuseTags(value: unknown): void {
  const isAllowed = Array.isArray(value) ? /^\/\d+\/params\/arguments/ : /^\/params\/arguments/;
  const pointer = findForbiddenText(value).numbers.find((found) => !isAllowed.test(found));
  if (pointer !== undefined) throw invalidMessage(`${pointer} is a number that cannot be represented exactly.`);
}

function isWithin(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depth > 0 && Object.values(value).every((child) => isWithin(child, depth - 1));
}

/** Returns the RpcError 400 for a body that is not a JSON-RPC 2.0 message or batch (MCP, Streamable HTTP: sending messages). */
export function invalidMessage(message: string): RpcError {
  return new RpcError(rpcCodes.invalidRequest, message, { status: 400 });
}
