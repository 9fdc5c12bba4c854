import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Static, TObject, TSchema } from 'typebox';
import type { Page } from '../../db/page.ts';
import type { Role, Scope } from '../../workflows/contracts/access.ts';
import type { Ctx, IdentifyRequest, Reply } from './context.ts';
import type { AppDeps } from './deps.ts';

export { Reply, reply, type AuditNote, type Ctx, type IdentifyRequest, type ReplyOptions } from './context.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type Access = Role | 'none' | 'ingress' | 'oauth-client' | 'registration-token';
export type AuditAction = 'create' | 'update' | 'delete' | 'login' | 'logout' | 'submit' | 'approve' | 'purge' | 'impersonate' | 'none';

export interface CommonSpec {
  readonly summary: string;
  readonly description: string;
  readonly access: Access;
  /** Path of a GET for the Location header of a 201 or 202, made from the view. */
  readonly location?: (view: never) => string;
  readonly visibility?: 'public' | 'operator';
  readonly status?: 'live' | 'specified';
  readonly sessionOnly?: true;
  readonly notDelegable?: true;
  readonly mcp?: true;
  readonly spends?: true;
  readonly secretReply?: true;
  /** A scope of the credential, `{area}:read` or `{area}:write`; null needs none. Default by area and audit action. */
  readonly scope?: string | null;
  /** Another credential than those of the platform admits too, as nobody (the scrape token of `/metrics`). */
  readonly ownCredential?: (deps: AppDeps, request: FastifyRequest) => boolean;
  /** `any`: public documents and OAuth endpoints, readable from every origin without credentials. */
  readonly cors?: 'any';
  /** Not counted by any rate limit (probes). */
  readonly unlimited?: true;
  /** `none`: no transaction and no tenant query at all (documents, catalogues). */
  readonly transaction?: 'none';
  readonly bodyLimitBytes?: number;
  /** Whether a suspended organization or archived workspace still admits it. */
  readonly openWhenFrozen?: true;
  readonly resourceType?: string;
  /** Success statuses; the first is the operation's own. Default 200, 201 for POST that creates, 204 without view. */
  readonly success?: readonly number[];
  /** Request headers beside the shared ones, by their lower-case names; validated like parameters. */
  readonly headers?: TObject;
  /** Undeclared query keys are ignored instead of refused. */
  readonly openQuery?: true;
  /** `false`: a GET with an ETag that never answers 304, since its view changes beside the version. */
  readonly notModified?: false;
  /**
   * Works after validation and before idempotency and transaction: looks a caller up by a `gate_*` function, verifies a password, counts limits
   * that need a body value. An object with a `caller` replaces nobody; the whole value becomes `input.identified`.
   */
  readonly identify?: (request: IdentifyRequest) => Promise<unknown>;
  readonly example?: { readonly body?: unknown; readonly view?: unknown };
}

export interface Shapes<P extends TObject, Q extends TObject, B extends TSchema, V extends TSchema> {
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  readonly view?: V;
}

export interface Input<P extends TObject, Q extends TObject, B extends TSchema> {
  readonly params: Static<P>;
  readonly query: Static<Q>;
  readonly body: Static<B>;
  /** What `identify` gave; undefined without it. */
  readonly identified: unknown;
}

export type Handler<P extends TObject, Q extends TObject, B extends TSchema, V extends TSchema> =
  (ctx: Ctx, input: NoInfer<Input<P, Q, B>>) => Promise<NoInfer<Static<V>> | Reply<NoInfer<Static<V>>>>;
export type ListHandler<P extends TObject, Q extends TObject, V extends TSchema> =
  (ctx: Ctx, input: NoInfer<Input<P, Q, TSchema>>) => Promise<Page<NoInfer<Static<V>>>>;
export type RawHandler<P extends TObject, Q extends TObject> = (
  ctx: Omit<Ctx, 'em' | 'keep'>,
  input: NoInfer<Input<P, Q, TSchema>>,
  http: { readonly request: FastifyRequest; readonly reply: FastifyReply },
) => Promise<void>;

type GetSpec<P extends TObject, Q extends TObject, V extends TSchema> = CommonSpec & Shapes<P, Q, TSchema, V> & { readonly etag?: true; readonly view: V };
type ListSpec<P extends TObject, Q extends TObject, V extends TSchema> = CommonSpec & Shapes<P, Q, TSchema, V> & {
  readonly view: V;
  /** `keyset` pages by cursor and offset, `offset` by offset only, `none` declares no paging parameter. */
  readonly paging: 'keyset' | 'offset' | 'none';
  readonly order?: string;
};
type PostSpec<P extends TObject, Q extends TObject, B extends TSchema, V extends TSchema> = CommonSpec & Shapes<P, Q, B, V> & {
  readonly audit: AuditAction;
  readonly idempotent?: true;
  readonly etag?: true;
  readonly ifMatch?: 'required';
};
type WriteSpec<P extends TObject, Q extends TObject, B extends TSchema, V extends TSchema> = CommonSpec & Shapes<P, Q, B, V> & {
  readonly audit: AuditAction;
  readonly etag?: true;
};
type DeleteSpec<P extends TObject, Q extends TObject> = CommonSpec & { readonly params?: P; readonly query?: Q; readonly audit: AuditAction };
type RawSpec<P extends TObject, Q extends TObject> = CommonSpec & {
  readonly params?: P;
  readonly query?: Q;
  readonly produces: string;
  readonly headReply?: 'allowed' | 'refused';
};

/** One operation as a value: what it demands, what it takes and gives, and its handler. `mount` makes the route, `openapi` the document. */
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
  readonly handler: (ctx: never, input: never, http: never) => Promise<unknown>;
}

/** An operation with its place in the registry. */
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

export function get<P extends TObject, Q extends TObject, V extends TSchema>(path: string, spec: GetSpec<P, Q, V>, handler: Handler<P, Q, TSchema, V>): Operation {
  return operation('json', 'GET', path, spec, handler);
}

export function list<P extends TObject, Q extends TObject, V extends TSchema>(path: string, spec: ListSpec<P, Q, V>, handler: ListHandler<P, Q, V>): Operation {
  return operation('list', 'GET', path, spec, handler);
}

export function post<P extends TObject, Q extends TObject, B extends TSchema, V extends TSchema>(path: string, spec: PostSpec<P, Q, B, V>, handler: Handler<P, Q, B, V>): Operation {
  return operation('json', 'POST', path, spec, handler);
}

export function put<P extends TObject, Q extends TObject, B extends TSchema, V extends TSchema>(path: string, spec: WriteSpec<P, Q, B, V>, handler: Handler<P, Q, B, V>): Operation {
  return operation('json', 'PUT', path, spec, handler);
}

export function patch<P extends TObject, Q extends TObject, B extends TSchema, V extends TSchema>(path: string, spec: WriteSpec<P, Q, B, V>, handler: Handler<P, Q, B, V>): Operation {
  return operation('json', 'PATCH', path, spec, handler);
}

export function remove<P extends TObject, Q extends TObject>(path: string, spec: DeleteSpec<P, Q>, handler: (ctx: Ctx, input: NoInfer<Input<P, Q, TSchema>>) => Promise<void>): Operation {
  return operation('json', 'DELETE', path, spec, handler);
}

/** A GET whose handler writes the reply itself: streams and documents. It gets no transaction. */
export function raw<P extends TObject, Q extends TObject>(path: string, spec: RawSpec<P, Q>, handler: RawHandler<P, Q>): Operation {
  return operation('raw', 'GET', path, spec, handler);
}

type AnySpec = CommonSpec & Shapes<TObject, TObject, TSchema, TSchema> & {
  readonly audit?: AuditAction;
  readonly idempotent?: true;
  readonly etag?: true;
  readonly ifMatch?: 'required';
  readonly paging?: 'keyset' | 'offset' | 'none';
  readonly order?: string;
  readonly produces?: string;
  readonly headReply?: 'allowed' | 'refused';
};

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

export type { Role, Scope };
