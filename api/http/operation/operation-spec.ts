import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Static, TObject, TSchema } from 'typebox';
import type { Page } from '../../../db/page.ts';
import type { Role } from '../../../workflows/contracts/access.ts';
import type { PrecheckRequest, Ctx, IdentifyRequest, Reply } from './context.ts';
import type { ErrorCode } from '../../../workflows/contracts/error-codes.ts';
import type { ApiEnv } from '../../env.ts';
import type { AppDeps } from './deps.ts';
import type { ErrorEnvelopeView } from '../reply/error.schema.ts';
import type { WebPage } from '../openapi/web-page.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type Access = Role | 'none' | 'ingress' | 'oauth-client' | 'registration-token';
export type AuditAction = 'create' | 'update' | 'delete' | 'login' | 'logout' | 'submit' | 'approve' | 'purge' | 'impersonate' | 'none';

/** The declaration of every operation: who may call it, what it takes and returns, how it behaves. */
export interface CommonSpec {
  readonly summary: string;
  readonly description: string;
  readonly access: Access;
  /** Path of a GET for the Location header of a 201 or 202, made from the view. */
  readonly location?: (view: never) => string;
  readonly visibility?: 'public' | 'operator';
  readonly status?: 'live' | 'specified';
  readonly sessionOnly?: true;
  /** With access `none`: a credential that is sent is still checked, and must be a session's. */
  readonly takesSession?: true;
  /** Neither in another user's name (X-Acting-User) nor inside an impersonation. */
  readonly notDelegable?: true;
  /** Reads or changes what belongs to the deployment as a whole: not for an operator who is narrowed to a part of it (X-View-*). */
  readonly ofPlatform?: true;
  /** Demands that a factor was verified within the last 10 minutes; implies `sessionOnly`. */
  readonly stepUp?: true;
  readonly mcp?: true;
  readonly spends?: true;
  readonly secretReply?: true;
  /** A scope of the credential, `{area}:read` or `{area}:write`; null needs none. Default by area and audit action. */
  readonly scope?: string | null;
  /** Another credential than those of the platform is accepted too, without a caller (the scrape token of `/metrics`). */
  readonly ownCredential?: (deps: AppDeps, request: FastifyRequest) => boolean;
  /** `any`: public documents and OAuth endpoints, readable from every origin without credentials. */
  readonly cors?: 'any';
  /** Not counted by any rate limit (probes). */
  readonly unlimited?: true;
  /** `none`: no transaction and no tenant query at all (documents, catalogues). `writes`: of a GET that leaves a row behind. */
  readonly transaction?: 'none' | 'writes';
  readonly bodyLimitBytes?: number | ((env: ApiEnv) => number);
  /** Whether a suspended organization or archived workspace still admits it. */
  readonly openWhenSuspended?: true;
  readonly resourceType?: string;
  /** Success statuses; the first is the operation's own. Default 200, 201 for POST that creates, 204 without view. */
  readonly success?: readonly number[];
  /** Request headers in addition to the shared ones, by their lower-case names; validated like parameters. */
  readonly headers?: TObject;
  /** The body is a form instead of JSON; its schema holds texts only. */
  readonly form?: true;
  /** The body is `multipart/form-data` with one part `file`, which `identify` streams to its place with `readForm`; it gives the handler's body. */
  readonly multipart?: true;
  /** The body is whatever another system sends, JSON, form or text: `identify` gets its bytes, and gives the value that an Idempotency-Key is compared by as `body`. A pattern: media types beside these. */
  readonly rawBody?: true | RegExp;
  /** `oauth`: what breaks the schema is 400 with the code of the RFC. `own`: it is handed to `identify`, which answers for it. Default 422. */
  readonly faults?: 'oauth' | 'own';
  /** The operation's own check, after limits and role floor and before the body is read. Throws the refusal. */
  readonly precheck?: (request: PrecheckRequest) => Promise<void>;
  /** Further media types of a success, including ranges (RFC 9110 §12.5.1), with their schemas. */
  readonly alsoProduces?: Readonly<Record<string, TSchema>>;
  /** Views of successes that differ from `view`. */
  readonly viewsBeside?: Readonly<Record<number, TSchema>>;
  /** Further media types of a failure besides the envelope's, with their schemas. */
  readonly alsoFailsAs?: Readonly<Record<string, TSchema>>;
  /** Renders a failure for a browser as a page of the envelope. Every other client gets the envelope itself. */
  readonly failurePage?: (envelope: ErrorEnvelopeView) => WebPage;
  /** `false`: a GET with an ETag that never answers 304, since its view changes independently of the version. */
  readonly notModified?: false;
  /** Codes that the handler itself throws, in addition to those that follow from the rest of the declaration (`errorCodesOf`). */
  readonly fails?: readonly ErrorCode[];
  readonly example?: { readonly body?: unknown; readonly view?: unknown };
}

/**
 * Works after validation and before idempotency and transaction: looks a caller up by a `gate_*` function, verifies a password, counts limits
 * that need a body value. A `caller` in what it gives replaces nobody; the whole value becomes the handler's `input.identified`.
 * For a `multipart` operation its `body` is the handler's, which an Idempotency-Key is compared by.
 */
type Identify<P extends TObject, Q extends TObject, B extends TSchema, I> = (
  request: NoInfer<IdentifyRequest<Static<B>, Static<Q>, Static<P>>>,
) => Promise<I>;

/** The schemas of an operation, and what it finds out before its transaction. */
export interface Shapes<P extends TObject, Q extends TObject, B extends TSchema, V extends TSchema, I> {
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  readonly view?: V;
  readonly identify?: Identify<P, Q, B, I>;
}

export interface Input<P extends TObject, Q extends TObject, B extends TSchema, I = undefined> {
  readonly params: Static<P>;
  readonly query: Static<Q>;
  readonly body: Static<B>;
  /** What `identify` gave; undefined without it. */
  readonly identified: I;
}

export type Handler<P extends TObject, Q extends TObject, B extends TSchema, V extends TSchema, I> = (
  ctx: Ctx,
  input: NoInfer<Input<P, Q, B, I>>,
) => Promise<NoInfer<Static<V>> | Reply<NoInfer<Static<V>>>>;
export type ListHandler<P extends TObject, Q extends TObject, V extends TSchema> = (
  ctx: Ctx,
  input: NoInfer<Input<P, Q, TSchema>>,
) => Promise<Page<NoInfer<Static<V>>>>;
export type RawHandler<P extends TObject, Q extends TObject> = (
  ctx: Omit<Ctx, 'em' | 'commitNow'>,
  input: NoInfer<Input<P, Q, TSchema>>,
  http: { readonly request: FastifyRequest; readonly reply: FastifyReply },
) => Promise<void>;

export type GetSpec<P extends TObject, Q extends TObject, V extends TSchema, I> = CommonSpec &
  Shapes<P, Q, TSchema, V, I> & { readonly etag?: true; readonly view: V; readonly headReply?: 'refused' };
export type ListSpec<P extends TObject, Q extends TObject, V extends TSchema> = CommonSpec &
  Omit<Shapes<P, Q, TSchema, V, undefined>, 'identify'> & {
    readonly view: V;
    /** `keyset` pages by cursor and offset, `offset` by offset only, `none` declares no paging parameter. */
    readonly paging: 'keyset' | 'offset' | 'none';
    readonly order?: string;
  };
export type PostSpec<P extends TObject, Q extends TObject, B extends TSchema, V extends TSchema, I> = CommonSpec &
  Shapes<P, Q, B, V, I> & {
    readonly audit: AuditAction;
    readonly idempotent?: true;
    readonly etag?: true;
    readonly ifMatch?: 'required';
  };
export type WriteSpec<P extends TObject, Q extends TObject, B extends TSchema, V extends TSchema, I> = CommonSpec &
  Shapes<P, Q, B, V, I> & {
    readonly audit: AuditAction;
    readonly etag?: true;
  };
export type DeleteSpec<P extends TObject, Q extends TObject, I> = CommonSpec & {
  readonly params?: P;
  readonly query?: Q;
  readonly identify?: Identify<P, Q, TSchema, I>;
  readonly audit: AuditAction;
};
export type RawSpec<P extends TObject, Q extends TObject> = CommonSpec & {
  readonly params?: P;
  readonly query?: Q;
  readonly produces: string;
  /** The schema of what `produces` contains, for the document only. */
  readonly view?: TSchema;
  readonly headReply?: 'allowed' | 'refused';
};

export type RawPostSpec<P extends TObject, Q extends TObject> = RawSpec<P, Q> & { readonly audit: AuditAction; readonly body: TSchema };

/** What the verb helpers take between them. */
export type AnySpec = CommonSpec &
  Omit<Shapes<TObject, TObject, TSchema, TSchema, unknown>, 'identify'> & {
    readonly identify?: (request: never) => Promise<unknown>;
    readonly audit?: AuditAction;
    readonly idempotent?: true;
    readonly etag?: true;
    readonly ifMatch?: 'required';
    readonly paging?: 'keyset' | 'offset' | 'none';
    readonly order?: string;
    readonly produces?: string;
    readonly headReply?: 'allowed' | 'refused';
  };
