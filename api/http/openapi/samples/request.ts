import { acceptedBy } from '../../input/body.ts';
import { bodyExample, exampleOf } from '../examples.ts';
import type { RegisteredOperation } from '../../operation/operation.ts';
import { querySchemaOf } from '../../reply/page.ts';
import { successOf } from '../../reply/render.ts';
import { isRoleAccess, isSessionOnly } from '../../credentials/scopes.ts';

/** A text of a request; `variable` is appended from the environment, `isUnique` generates a new value each time. */
export interface SampleText {
  readonly text: string;
  readonly variable?: string;
  readonly isUnique?: true;
}

/** One request of an operation as every language writes it. */
export interface SampleRequest {
  readonly method: string;
  /** Address in parts: literal text, and variables of the environment. */
  readonly url: readonly SampleText[];
  readonly headers: readonly (readonly [string, SampleText])[];
  readonly body: SampleBody | null;
  readonly reply: 'json' | 'text' | 'events' | 'file' | 'none';
}

export type SampleBody =
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'form'; readonly fields: readonly (readonly [string, string])[] }
  | { readonly kind: 'multipart'; readonly file: string; readonly fields: readonly (readonly [string, string])[] };

/** The file that samples upload. */
export const sampleFile = 'notes.txt';

/** What a newcomer would send: the documented example, parameters only where they are needed, ids from variables of the environment. */
export function sampleRequest(operation: RegisteredOperation, publicUrl: string): SampleRequest {
  const body = bodyOf(operation);
  return {
    method: operation.method,
    url: urlOf(operation, publicUrl),
    headers: [...credentialOf(operation), ...acceptOf(operation), ...preconditionsOf(operation), ...contentTypeOf(operation, body)],
    body,
    reply: replyOf(operation),
  };
}

function urlOf(operation: RegisteredOperation, publicUrl: string): SampleText[] {
  const parts = operation.path.split(/(\{\w+\})/).filter((part) => part !== '');
  const path = parts.map((part) => (part.startsWith('{') ? { text: '', variable: part.slice(1, -1).toUpperCase() } : { text: part }));
  const query = queryOf(operation);
  return joined([{ text: publicUrl }, ...path, ...(query === '' ? [] : [{ text: `?${query}` }])]);
}

/** Neighbouring literals become one. */
function joined(parts: readonly SampleText[]): SampleText[] {
  const made: SampleText[] = [];
  for (const part of parts) {
    const last = made.at(-1);
    if (last && last.variable === undefined && part.variable === undefined) made[made.length - 1] = { text: last.text + part.text };
    else made.push(part);
  }
  return made;
}

function queryOf(operation: RegisteredOperation): string {
  const { properties, required } = querySchemaOf(operation);
  const needed: readonly string[] = required ?? [];
  const pairs = Object.entries(properties).flatMap(([name, schema]): [string, string][] => {
    if (needed.includes(name)) return [[name, String(exampleOf(schema))]];
    return name === 'limit' ? [[name, '20']] : [];
  });
  return new URLSearchParams(pairs).toString();
}

function credentialOf(operation: RegisteredOperation): [string, SampleText][] {
  const bearer = (variable: string): [string, SampleText][] => [['Authorization', { text: 'Bearer ', variable }]];
  if (operation.access === 'registration-token') return bearer('REGISTRATION_TOKEN');
  if (operation.access === 'oauth-client') return [['Authorization', { text: 'Basic ', variable: 'CLIENT_CREDENTIALS' }]];
  if (!isRoleAccess(operation)) return [];
  return bearer(isSessionOnly(operation) ? 'ACCESS_TOKEN' : 'LONGHAUL_KEY');
}

function acceptOf(operation: RegisteredOperation): [string, SampleText][] {
  if (operation.path === '/mcp') return [['Accept', { text: 'application/json, text/event-stream' }]];
  return operation.produces === 'text/event-stream' ? [['Accept', { text: 'text/event-stream' }]] : [];
}

function preconditionsOf(operation: RegisteredOperation): [string, SampleText][] {
  return [
    ...(operation.idempotent ? [['Idempotency-Key', { text: '', isUnique: true }] as [string, SampleText]] : []),
    ...(operation.ifMatch === 'required' ? [['If-Match', { text: '', variable: 'ETAG' }] as [string, SampleText]] : []),
  ];
}

/** Clients write the type of a multipart form themselves, since it names the boundary. */
function contentTypeOf(operation: RegisteredOperation, body: SampleBody | null): [string, SampleText][] {
  return body === null || body.kind === 'multipart' ? [] : [['Content-Type', { text: acceptedBy(operation) }]];
}

function bodyOf(operation: RegisteredOperation): SampleBody | null {
  if (!operation.body) return null;
  const value: unknown = bodyExample(operation, operation.body);
  if (!operation.multipart && !operation.form) return { kind: 'json', value };

  const fields = Object.entries(Object(value)).map(([name, field]): [string, string] => [name, String(field)]);
  if (operation.form) return { kind: 'form', fields };
  return { kind: 'multipart', file: sampleFile, fields: fields.filter(([name]) => name !== 'file') };
}

function replyOf(operation: RegisteredOperation): SampleRequest['reply'] {
  const status = (operation.success ?? [successOf(operation)])[0];
  if (status === 204) return 'none';
  if (operation.produces === 'text/event-stream') return 'events';
  if (operation.produces === 'application/octet-stream') return 'file';
  return operation.produces === 'application/json' ? 'json' : 'text';
}
