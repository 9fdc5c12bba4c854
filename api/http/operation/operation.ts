import type { TObject, TSchema } from 'typebox';
import type { Ctx } from './context.ts';
import type {
  AnySpec,
  AuditAction,
  CommonSpec,
  DeleteSpec,
  GetSpec,
  Handler,
  Input,
  ListHandler,
  ListSpec,
  Method,
  PostSpec,
  RawHandler,
  RawPostSpec,
  RawSpec,
  WriteSpec,
} from './operation-spec.ts';

export { reply, seeOther, type PrecheckRequest, type AuditNote, type Ctx, type IdentifyRequest } from './context.ts';
export type { Access, AuditAction, CommonSpec, Handler, Input, ListHandler, Method, RawHandler } from './operation-spec.ts';

/** One operation as a value: its requirements, its input and output, and its handler. `mount` creates the route, `openapi` the document. */
export interface Operation extends CommonSpec {
  readonly kind: 'json' | 'list' | 'raw';
  readonly method: Method;
  readonly path: string;
  readonly params: TObject | null;
  readonly query: TObject | null;
  readonly body: TSchema | null;
  readonly view: TSchema | null;
  readonly audit: AuditAction;
  readonly idempotent: boolean;
  readonly etag: boolean;
  readonly ifMatch: 'required' | 'optional' | null;
  readonly paging: 'keyset' | 'offset' | 'none' | null;
  readonly order: string | null;
  readonly produces: string;
  /** `refused` where HEAD is 405 although GET exists: event streams. */
  readonly headReply: 'allowed' | 'refused';
  readonly identify?: (request: never) => Promise<unknown>;
  readonly handler: (ctx: never, input: never, http: never) => Promise<unknown>;
}

/** An operation with its id and area. */
export interface RegisteredOperation extends Operation {
  readonly operationId: string;
  readonly area: string;
}

export interface Area {
  readonly name: string;
  readonly operations: readonly RegisteredOperation[];
}

/** Names the operations of one area; the record's key is the operation id. */
export function area(name: string, operations: Readonly<Record<string, Operation>>): Area {
  return { name, operations: Object.entries(operations).map(([operationId, operation]) => ({ ...operation, operationId, area: name })) };
}

export function get<P extends TObject, Q extends TObject, V extends TSchema, I = undefined>(
  path: string,
  spec: GetSpec<P, Q, V, I>,
  handler: Handler<P, Q, TSchema, V, I>,
): Operation {
  return operation('json', 'GET', path, spec, handler);
}

export function list<P extends TObject, Q extends TObject, V extends TSchema>(
  path: string,
  spec: ListSpec<P, Q, V>,
  handler: ListHandler<P, Q, V>,
): Operation {
  return operation('list', 'GET', path, spec, handler);
}

export function post<P extends TObject, Q extends TObject, B extends TSchema, V extends TSchema, I = undefined>(
  path: string,
  spec: PostSpec<P, Q, B, V, I>,
  handler: Handler<P, Q, B, V, I>,
): Operation {
  return operation('json', 'POST', path, spec, handler);
}

export function put<P extends TObject, Q extends TObject, B extends TSchema, V extends TSchema, I = undefined>(
  path: string,
  spec: WriteSpec<P, Q, B, V, I>,
  handler: Handler<P, Q, B, V, I>,
): Operation {
  return operation('json', 'PUT', path, spec, handler);
}

export function patch<P extends TObject, Q extends TObject, B extends TSchema, V extends TSchema, I = undefined>(
  path: string,
  spec: WriteSpec<P, Q, B, V, I>,
  handler: Handler<P, Q, B, V, I>,
): Operation {
  return operation('json', 'PATCH', path, spec, handler);
}

export function remove<P extends TObject, Q extends TObject, I = undefined>(
  path: string,
  spec: DeleteSpec<P, Q, I>,
  handler: (ctx: Ctx, input: NoInfer<Input<P, Q, TSchema, I>>) => Promise<void>,
): Operation {
  return operation('json', 'DELETE', path, spec, handler);
}

/** A GET whose handler writes the reply itself: streams and documents. It gets no transaction. */
export function raw<P extends TObject, Q extends TObject>(path: string, spec: RawSpec<P, Q>, handler: RawHandler<P, Q>): Operation {
  return operation('raw', 'GET', path, spec, handler);
}

/** A POST whose handler reads the body itself and writes the reply; `body` is for the document only. It gets no transaction. */
export function rawPost<P extends TObject, Q extends TObject>(path: string, spec: RawPostSpec<P, Q>, handler: RawHandler<P, Q>): Operation {
  return operation('raw', 'POST', path, spec, handler);
}

function operation(kind: Operation['kind'], method: Method, path: string, spec: AnySpec, handler: Operation['handler']): Operation {
  const guardsUpdates = spec.etag === true && method !== 'GET';
  return {
    ...spec,
    kind,
    method,
    path,
    params: spec.params ?? null,
    query: spec.query ?? null,
    body: spec.body ?? null,
    view: spec.view ?? null,
    audit: spec.audit ?? 'none',
    idempotent: spec.idempotent ?? false,
    etag: spec.etag ?? false,
    ifMatch: spec.ifMatch ?? (guardsUpdates ? 'optional' : null),
    paging: spec.paging ?? null,
    order: spec.order ?? null,
    produces: spec.produces ?? 'application/json',
    headReply: spec.headReply ?? 'allowed',
    handler,
  };
}
