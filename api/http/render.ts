import { Reply, type ReplyOptions } from './context.ts';
import { etagOf } from './etag.ts';
import type { RegisteredOperation } from './operation.ts';

/** A reply as it goes to the wire, and as it is stored for a repeat. */
export interface Rendered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text; null on 204. */
  readonly body: string | null;
}

/** The plain success of an operation. */
export function successOf(operation: RegisteredOperation): number {
  const [declared] = operation.success ?? [];
  if (declared !== undefined) return declared;
  if (operation.view === null && operation.kind === 'json') return 204;
  return operation.method === 'POST' && operation.audit === 'create' ? 201 : 200;
}

/** Takes a handler's result apart: the view and how it is to be sent. */
export function unwrap(result: unknown): { view: unknown; options: ReplyOptions<unknown> } {
  return result instanceof Reply ? { view: result.view, options: result.options } : { view: result, options: {} };
}

/** Serializes a view. Throws before the first byte when it can't be. */
export function render(operation: RegisteredOperation, view: unknown, options: ReplyOptions<unknown>): Rendered {
  const status = options.status ?? successOf(operation);
  const body = status === 204 ? null : JSON.stringify(view);
  if (body === undefined) throw new Error(`${operation.operationId} gave no view`);

  return { status, headers: headersOf(operation, status, view, options), body };
}

function headersOf(operation: RegisteredOperation, status: number, view: unknown, options: ReplyOptions<unknown>): Record<string, string> {
  const headers: Record<string, string> = { ...options.headers };
  if (status !== 204) headers['content-type'] = 'application/json; charset=utf-8';
  if (operation.etag && options.version !== undefined && options.version !== null) headers['etag'] = etagOf(options.version);
  if (operation.etag && options.version === undefined) throw new Error(`${operation.operationId} gave no version for its ETag`);

  // The operation's own view, so its own `location` takes it.
  if ((status === 201 || status === 202) && operation.location) headers['location'] = operation.location(view as never);
  return headers;
}
