import type { FastifyRequest } from 'fastify';
import { tagInexact, type InexactNumbers } from '../../../workflows/contracts/tools/exact-json.ts';
import { fail, invalid, type Failure } from '../../../workflows/contracts/failure.ts';
import { decodeBody, depthOf } from '../../../ports/request-text.ts';
import type { ApiEnv } from '../../env.ts';
import type { RegisteredOperation } from '../operation/operation.ts';
import { formOverheadBytes } from './bounds.ts';
import { findForbiddenText, forbiddenViolations } from './text-scan.ts';

const maxDefaultBytes = 1_048_576;
const maxAnonymousBytes = 65_536;
const jsonName = 'application/json';
const formName = 'application/x-www-form-urlencoded';
const multipartName = 'multipart/form-data';
const jsonDepth = 64;
/** More than a refusal lists. */
const maxTags = 60;
const jsonType = /^application\/(?:json|[a-z0-9.!#$&^_-]+\+json)[ \t]*(?:;[ \t]*charset=(?:utf-8|"utf-8")[ \t]*)?$/i;
// A parsed body only needs a walk if its text contains an escape or a name that could reach a prototype.
const needsWalk = /\\u|__proto__|"constructor"/;
const formType = /^application\/x-www-form-urlencoded[ \t]*(?:;[ \t]*charset=(?:utf-8|"utf-8")[ \t]*)?$/i;
const multipartType = /^multipart\/form-data[ \t]*;/i;
/** What other systems send to a hook. */
const rawType =
  /^(?:$|(?:application\/(?:json|[a-z0-9.!#$&^_-]+\+json|x-www-form-urlencoded)|text\/[a-z0-9.!#$&^_+-]+)[ \t]*(?:;|$)(?!.*charset=(?!["']?(?:utf-8|us-ascii)\b)))/i;

/** Most bytes that a body of this operation may have. */
export function bodyLimitOf(operation: RegisteredOperation, env: ApiEnv): number {
  const { maxBodyBytes } = operation;
  if (maxBodyBytes !== undefined) return typeof maxBodyBytes === 'number' ? maxBodyBytes : maxBodyBytes(env);
  return operation.access === 'none' || operation.area === 'Oauth' ? maxAnonymousBytes : maxDefaultBytes;
}

/** 413 that names the limit, and of files whose it is to change. */
export function tooLarge(maxBytes: number, isFile: boolean): Failure {
  const detail = isFile
    ? `A file can have at most ${maxBytes} bytes (ATTACHMENT_MAX_BYTES, set by an operator).`
    : `The body of this operation can have at most ${maxBytes} bytes.`;
  return fail('payload_too_large', { detail, context: { limit_bytes: maxBytes } });
}

export function takesBody(operation: RegisteredOperation): boolean {
  return operation.method === 'POST' || operation.method === 'PUT' || operation.method === 'PATCH';
}

/** Decides 413 and 415 from the headers alone, before the credential is checked. */
export function judgeBody(operation: RegisteredOperation, request: FastifyRequest, env: ApiEnv): void {
  if (!takesBody(operation)) return;
  const maxBytes = bodyLimitOf(operation, env) + (operation.multipart ? formOverheadBytes : 0);
  const { headers } = request;
  const length = Number(headers['content-length'] ?? 0);
  if (length > maxBytes) throw tooLarge(bodyLimitOf(operation, env), operation.multipart === true);
  if (length === 0 && headers['transfer-encoding'] === undefined) return;

  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw unsupported('Encoded request bodies are not accepted.', acceptedBy(operation));
  const type = headers['content-type'] ?? '';
  if (typeOf(operation).test(type) || (operation.rawBody instanceof RegExp && operation.rawBody.test(type))) return;
  throw unsupported(`The body must be ${acceptedBy(operation)} in UTF-8.`, acceptedBy(operation));
}

/** Media type of an operation's body. */
export function acceptedBy(operation: RegisteredOperation): string {
  return operation.form ? formName : operation.multipart ? multipartName : jsonName;
}

function typeOf(operation: RegisteredOperation): RegExp {
  if (operation.rawBody) return rawType;
  return operation.form ? formType : operation.multipart ? multipartType : jsonType;
}

/**
 * The value of a JSON body; undefined when there is none. `exact`: which numbers must stay what they are. Throws `malformed_request`, or `validation_failed` for depth, text,
 * and numbers that would be changed.
 */
export function parseJson(bytes: Buffer, exact: InexactNumbers): unknown {
  if (bytes.length === 0) return undefined;
  const text = decodeBody(bytes);
  if (text.trim() === '') return undefined;
  if (depthOf(text) > jsonDepth) throw invalid('', 'max_depth', 'The body is nested too deeply.', { limit: jsonDepth });

  const tagged = tagInexact(text, exact, maxTags);
  const value = parseText(tagged);
  if (tagged !== text || needsWalk.test(text)) refuseForbidden(value);
  return value;
}

/** 415, with the type that is accepted. */
export function unsupported(detail: string, accepted: string = jsonName): Error {
  return fail('unsupported_media_type', { detail, headers: { 'accept-post': accepted } });
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw fail('malformed_request', { detail: 'The body is not valid JSON.', cause });
  }
}

function refuseForbidden(value: unknown): void {
  const found = findForbiddenText(value);
  if (found.hasPrototypeKey) throw fail('malformed_request', { detail: 'The body contains a key that is not allowed.' });
  const errors = forbiddenViolations(found);
  if (errors.length > 0) throw fail('validation_failed', { errors });
}
