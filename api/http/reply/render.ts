import { Reply, type ReplyOptions } from '../operation/context.ts';
import { etagOf } from './etag.ts';
import type { RegisteredOperation } from '../operation/operation.ts';

/** A reply as it goes to the wire, and as it is stored for a repeat. */
export interface Rendered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text, or a page; null where there is none. */
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
  const body = bodyOf(operation, status, view, options);
  if (body === undefined) throw new Error(`${operation.operationId} gave no view`);

  return { status, headers: headersOf(operation, { status, view, hasBody: body !== null }, options), body };
}

/** Nothing on 204 and on redirects, and where an operation has no view at all. */
function bodyOf(operation: RegisteredOperation, status: number, view: unknown, { text }: ReplyOptions<unknown>): string | null | undefined {
  if (text) return text.body;
  return status === 204 || isRedirect(status) || operation.view === null ? null : JSON.stringify(view);
}

/** Whether a status sends the client elsewhere. */
export function isRedirect(status: number): boolean {
  return status >= 300 && status < 400;
}

function headersOf(
  operation: RegisteredOperation,
  { status, view, hasBody }: { status: number; view: unknown; hasBody: boolean },
  options: ReplyOptions<unknown>,
): Record<string, string> {
  const headers: Record<string, string> = { ...options.headers };
  if (hasBody) headers['content-type'] = options.text?.contentType ?? 'application/json; charset=utf-8';
  if (operation.etag && options.version !== undefined && options.version !== null) headers['etag'] = etagOf(options.version);
  if (operation.etag && options.version === undefined) throw new Error(`${operation.operationId} gave no version for its ETag`);

  // The operation's own view, so its own `location` takes it.
  if ((status === 201 || status === 202) && operation.location) headers['location'] = operation.location(view as never);
  return headers;
}
