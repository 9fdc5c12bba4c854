import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Static, TObject, TSchema } from 'typebox';
import type { Caller } from '../../db/caller.ts';
import type { Page, PageRequest } from '../../db/page.ts';
import type { Unit } from '../../db/unit.ts';
import type { Role, Scope } from '../../workflows/contracts/access.ts';
import type { Deps } from './deps.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type Access = Role | 'none' | 'ingress' | 'oauth-client' | 'registration-token';
export type AuditAction = 'create' | 'update' | 'delete' | 'login' | 'logout' | 'submit' | 'approve' | 'purge' | 'impersonate' | 'none';

/** What one mutation changed, for its audit entry; `mount` adds who, when and the action. */
export interface AuditNote {
  readonly resourceType: string;
  readonly resourceId?: string | null;
  readonly label?: string | null;
  readonly organizationId?: string | null;
  readonly workspaceId?: string | null;
  readonly changes?: Readonly<Record<string, { readonly from?: unknown; readonly to?: unknown; readonly changed?: true }>>;
}

/** What a handler works with: the caller and, unless the operation is `raw` or has `transaction: 'none'`, one transaction in the caller's tenant. */
export interface Ctx extends Unit {
  readonly caller: Caller;
  readonly deps: Deps;
  readonly log: Logger;
  readonly operationId: string;
  /** The floor of the operation, for rank rules in a granted workspace. */
  readonly floor: Role | null;
  readonly page: PageRequest;
  /** Parsed If-Match: null when absent, `*`, or the listed tags without quotes and prefixes. */
  readonly ifMatch: '*' | readonly string[] | null;
  readonly isIfMatchRequired: boolean;
  readonly address: string;
  readonly userAgent: string | null;
  /** Replaces the default audit note (resource type of the area, id of the view). */
  audit(note: AuditNote): void;
  /** Writes what a refusal must leave behind: runs `write` now, commits, and begins anew on the request's own connection. */
  keep(write: (unit: Unit) => Promise<void>): Promise<void>;
}

/** A reply that differs from the operation's plain success. */
export interface ReplyOptions<V> {
  readonly status?: number;
  /** Version of the row for the ETag; null sends none. */
  readonly version?: string | number | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Runs after commit and dispatch, without transaction or connection, and gives the final reply. */
  readonly afterCommit?: () => Promise<Reply<V>>;
}

export class Reply<V> {
  readonly view: V;
  readonly options: ReplyOptions<V>;

  constructor(view: V, options: ReplyOptions<V> = {}) {
    this.view = view;
    this.options = options;
  }
}

/** A view with status, version (ETag), headers or work after the commit. */
export function reply<V>(view: V, options: ReplyOptions<V> = {}): Reply<V> {
  return new Reply(view, options);
}

export interface CommonSpec {
  readonly summary: string;
  readonly description: string;
  readonly access: Access;
  /** Path of a GET for the Location header of a 201 or 202, with the view's own id filled in. */
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
  /** `none`: no transaction and no tenant query at all (documents, catalogues). */
  readonly transaction?: 'none';
  readonly bodyLimitBytes?: number;
  /** Whether a suspended organization or archived workspace still admits it. */
  readonly openWhenFrozen?: true;
  readonly resourceType?: string;
  /** Success statuses; the first is the operation's own. Default 200, 201 for POST that creates, 204 without view. */
  readonly success?: readonly number[];
  readonly headers?: TObject;
  /** Gives the caller of an operation without a platform credential, by a `gate_*` function, before the transaction; may work outside it. */
  readonly identify?: (request: IdentifyRequest) => Promise<unknown>;
  readonly example?: { readonly body?: unknown; readonly view?: unknown };
}

export interface IdentifyRequest {
  readonly deps: Deps;
  readonly caller: Caller;
  readonly params: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
  readonly address: string;
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
    handler,
  };
}

export type { Role, Scope };
