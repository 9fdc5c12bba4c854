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
  /** Refused in another user's name (X-Acting-User) and in an impersonation. */
  readonly notDelegable?: true;
  /** Reads or changes what belongs to the deployment as a whole: refused to an operator who has narrowed the view to a part of it (X-View-*). */
  readonly ofPlatform?: true;
  /** Requires a second factor (or, without one, the password) that was verified within the last 10 minutes; implies `sessionOnly`. */
  readonly stepUp?: true;
  readonly mcp?: true;
  readonly spends?: true;
  readonly secretReply?: true;
  /** The OAuth scope that the credential needs, `{area}:read` or `{area}:write`; null for none. Default by area and audit action. */
  readonly scope?: string | null;
  /** Whether the request has the operation's own credential, which is accepted without a caller (the scrape token of `/metrics`). */
  readonly ownCredential?: (deps: AppDeps, request: FastifyRequest) => boolean;
  /** `any`: public documents and OAuth endpoints, readable from every origin without credentials. */
  readonly cors?: 'any';
  /** Not counted by any rate limit (probes). */
  readonly unlimited?: true;
  /** `none`: no transaction and no tenant query at all (documents, catalogues). `writes`: a GET that writes a row. */
  readonly transaction?: 'none' | 'writes';
  readonly maxBodyBytes?: number | ((env: ApiEnv) => number);
  /** Still allowed in a suspended organization or archived workspace. */
  readonly openWhenSuspended?: true;
  readonly resourceType?: string;
  /** Success statuses; the first is the operation's own. Default 200, 201 for POST that creates, 204 without view. */
  readonly success?: readonly number[];
  /** Request headers in addition to the shared ones, by their lower-case names; validated like parameters. */
  readonly headers?: TObject;
  /** The body is a form instead of JSON; its schema contains only texts. */
  readonly form?: true;
  /** The body is `multipart/form-data` with one part `file`, which `identify` stores by `readForm`; `identify` also returns the handler's body. */
  readonly multipart?: true;
  /**
   * The body is whatever another system sends: JSON, form or text. `identify` gets its bytes, and returns as `body` the value by which an Idempotency-Key is
   * compared. A pattern allows further media types.
   */
  readonly rawBody?: true | RegExp;
  /** `oauth`: violations of the schema are 400 with the code of the RFC. `own`: `identify` gets them and reports them itself. Default 422. */
  readonly faults?: 'oauth' | 'own';
  /** The operation's own check, after limits and role floor and before the body is read. Throws a Failure to refuse. */
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
  /** What the recorder of the examples sends (`test/examples`), and the document shows until it has. */
  readonly example?: { readonly body?: unknown };
}

/**
 * Runs after validation and before idempotency and transaction: looks up a caller by a definer function, verifies a password, counts limits that need a body
 * value. A `caller` in its result becomes the request's; the whole result becomes the handler's `input.identified`. In a `multipart` or `rawBody` operation,
 * its `body` becomes the handler's, by which an Idempotency-Key is compared.
 */
type Identify<P extends TObject, Q extends TObject, B extends TSchema, I> = (
  request: NoInfer<IdentifyRequest<Static<B>, Static<Q>, Static<P>>>,
) => Promise<I>;

/** The schemas of an operation, and what it determines before its transaction. */
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
  /** The result of `identify`; undefined without it. */
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

/** Any spec that a verb helper accepts. */
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
