import { table } from './generated/table.ts';
import type { CallOptions } from './options.ts';
import { multipartOf, type Body, type Upload } from './upload.ts';

export type OperationId = keyof typeof table;

/** One row of the table, read. */
export interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly body: 'none' | 'fields' | 'whole' | 'form' | 'upload';
  readonly reply: 'json' | 'page' | 'raw' | 'text' | 'empty' | 'stream';
  readonly takesKey: boolean;
  readonly takesIfMatch: boolean;
  readonly isAnonymous: boolean;
  /** Arguments that belong in the query although there is a body. */
  readonly query: readonly string[];
}

/** What the letters of the table mean. */
const bodies = { j: 'fields', b: 'whole', f: 'form', u: 'upload' } as const;
const replies = { p: 'page', r: 'raw', t: 'text', e: 'empty', s: 'stream' } as const;
const read = new Map<string, Operation>();

export function operationOf(id: OperationId): Operation {
  let operation = read.get(id);
  if (!operation) {
    operation = parse(id, table[id]);
    read.set(id, operation);
  }
  return operation;
}

function parse(id: string, row: string): Operation {
  const [method = '', path = '', marks = ''] = row.split(' ');
  const [letters = '', query = ''] = marks.split('?');
  const chosen = <T>(from: Readonly<Record<string, T>>, otherwise: T): T =>
    [...letters].map((letter) => from[letter]).find(Boolean) ?? otherwise;
  return {
    id,
    method,
    path,
    body: chosen<Operation['body']>(bodies, 'none'),
    reply: chosen<Operation['reply']>(replies, 'json'),
    takesKey: letters.includes('k'),
    takesIfMatch: letters.includes('m'),
    isAnonymous: letters.includes('a'),
    query: query === '' ? [] : query.split(','),
  };
}

/** A request that can be sent again, unless its body can be read only once. */
export interface Outgoing {
  readonly operation: Operation;
  /** Behind the base URL. */
  readonly target: string;
  readonly headers: Record<string, string>;
  /** The body of one try. */
  readonly body: (() => Body) | null;
  readonly isOneShot: boolean;
}

export type Arguments = Readonly<Record<string, unknown>>;

/** Puts each argument where the operation takes it. Throws a TypeError for a path that would lead elsewhere. */
export function outgoing(operation: Operation, args: Arguments, options: CallOptions): Outgoing {
  const rest: Record<string, unknown> = { ...args };
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = rest[name];
    delete rest[name];
    return segment(operation.id, name, value);
  });
  const inQuery =
    operation.body === 'none'
      ? rest
      : take(rest, operation.body === 'whole' ? Object.keys(rest).filter((name) => name !== 'body') : operation.query);
  const query = queryOf(inQuery);
  const headers: Record<string, string> = { accept: 'application/json', ...lowerCased(options.headers) };
  if (operation.takesKey) headers['idempotency-key'] = options.idempotencyKey ?? crypto.randomUUID();
  if (operation.takesIfMatch && options.ifMatch !== undefined) headers['if-match'] = options.ifMatch;
  const body = bodyOf(operation, rest, headers);
  return { operation, target: path + (query === '' ? '' : `?${query}`), headers, ...body };
}

/** A dot segment would be resolved to another path, also in its escaped form (WHATWG URL). */
function segment(id: string, name: string, value: unknown): string {
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  if (text === '' || text === '.' || text === '..') throw new TypeError(`${id} needs ${name}`);
  return encodeURIComponent(text);
}

function take(from: Record<string, unknown>, names: readonly string[]): Record<string, unknown> {
  const taken: Record<string, unknown> = {};
  for (const name of names) {
    if (name in from) taken[name] = from[name];
    delete from[name];
  }
  return taken;
}

function queryOf(values: Arguments): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== undefined && each !== null) query.append(name, each instanceof Date ? each.toISOString() : String(each));
    }
  }
  return query.toString();
}

function lowerCased(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function bodyOf(
  operation: Operation,
  rest: Record<string, unknown>,
  headers: Record<string, string>,
): Pick<Outgoing, 'body' | 'isOneShot'> {
  switch (operation.body) {
    case 'none':
      return { body: null, isOneShot: false };
    case 'fields':
      return json(rest, headers);
    case 'whole':
      return whole(rest['body'], headers);
    case 'form': {
      const form = new URLSearchParams(queryOf(rest));
      return { body: () => form, isOneShot: false };
    }
    case 'upload': {
      const { file, filename, ...fields } = rest;
      return multipartOf(file as Upload, { filename: filename as string | undefined, fields, headers }); // as the call's type says
    }
    default:
      throw operation.body satisfies never;
  }
}

function json(value: unknown, headers: Record<string, string>): Pick<Outgoing, 'body' | 'isOneShot'> {
  // Made now: the caller may change its objects while a try waits.
  const text = JSON.stringify(value);
  headers['content-type'] ??= 'application/json';
  return { body: () => text, isOneShot: false };
}

function whole(value: unknown, headers: Record<string, string>): Pick<Outgoing, 'body' | 'isOneShot'> {
  if (value === undefined) return { body: null, isOneShot: false };
  const isBytes = typeof value === 'string' || value instanceof Uint8Array || value instanceof ArrayBuffer || value instanceof Blob;
  return isBytes ? { body: () => value as Body, isOneShot: false } : json(value, headers); // one of the four
}
