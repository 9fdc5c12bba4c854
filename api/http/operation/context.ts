import type { IncomingHttpHeaders } from 'node:http';
import type { Logger } from 'pino';
import type { Caller } from '../../../db/caller.ts';
import type { PageRequest } from '../../../db/page.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import type { Role } from '../../../workflows/contracts/access.ts';
import type { Violation } from '../../../workflows/contracts/failure.ts';
import type { AppDeps } from './deps.ts';
import type { FormReader } from '../input/multipart.ts';
import type { RequestLimits } from './rate-limit.ts';

/** What one mutation changed, for its audit entry; `mount` adds who, when and the action. */
export interface AuditNote {
  readonly resourceType: string;
  readonly resourceId?: string | null;
  readonly label?: string | null;
  readonly organizationId?: string | null;
  readonly workspaceId?: string | null;
  readonly changes?: Readonly<Record<string, { readonly from?: unknown; readonly to?: unknown; readonly changed?: true }>>;
}

/**
 * What a handler works with: the caller and, unless the operation is `raw` or has `transaction: 'none'`, one transaction in the caller's tenant. In a GET, each
 * statement is its own read-only transaction, unless the operation has `transaction: 'writes'`.
 */
export interface Ctx extends TenantTransaction {
  readonly caller: Caller;
  readonly deps: AppDeps;
  readonly log: Logger;
  readonly operationId: string;
  /** How the request came: through the operation's own route, or as a tool of the MCP endpoint. */
  readonly source: 'api' | 'mcp';
  /** Aborted when the client no longer waits for the answer: this ends a wait, never the work. Null if this is not watched. */
  readonly signal: AbortSignal | null;
  /** The role floor of the operation, for rank rules in a granted workspace. */
  readonly floor: Role | null;
  readonly page: PageRequest;
  /** Parsed If-Match: null when absent, `*`, or the listed tags without quotes and prefixes. */
  readonly ifMatch: '*' | readonly string[] | null;
  readonly isIfMatchRequired: boolean;
  /** Full address of the client, as trusted proxies report it. */
  readonly address: string;
  readonly userAgent: string | null;
  /** Replaces the default audit note (see `defaultNote`); null writes no entry. */
  audit(note: AuditNote | null): void;
  /** Writes what a refusal must leave behind: runs `write` now, commits, and begins a new transaction on the request's own connection. */
  commitNow(write: (tx: TenantTransaction) => Promise<void>): Promise<void>;
}

/** A reply that differs from the operation's plain success. */
export interface ReplyOptions<V> {
  readonly status?: number;
  /** Version of the row for the ETag; null sends none. */
  readonly version?: string | number | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** A page that is sent instead of the view. */
  readonly text?: { readonly contentType: string; readonly body: string };
  /** Runs after commit and dispatch, without transaction or connection, and returns the final reply. */
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

/** Redirects a browser: 303 without a body. */
export function seeOther(location: string): Reply<never> {
  // A redirect has no view; nothing reads one.
  return new Reply(undefined as never, { status: 303, headers: { location } });
}

/** What a precheck may read and count. */
export interface PrecheckRequest {
  readonly deps: AppDeps;
  /** The client's address as a limit key: IPv6 by /64. */
  readonly limitAddress: string;
  readonly limits: RequestLimits;
  readonly headers: IncomingHttpHeaders;
}

type Anything = Readonly<Record<string, unknown>>;

/** What `identify` gets, before the transaction: body, query and path are valid by the schemas of its operation, except for `violations`. */
export interface IdentifyRequest<B = unknown, Q = Anything, P = Anything> {
  readonly deps: AppDeps;
  readonly caller: Caller;
  /** The role floor of the operation, as in `Ctx`. */
  readonly floor: Role | null;
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  /** What broke the schema; empty unless the operation reports its violations itself (`faults: 'own'`). */
  readonly violations: readonly Violation[];
  readonly headers: IncomingHttpHeaders;
  /** The query as sent, including what no schema declares. */
  readonly search: string;
  /** Names and values as sent, including repeated ones. */
  readonly rawHeaders: readonly string[];
  /** Reads the form of a `multipart` operation, once; other operations have none. */
  readonly readForm: FormReader;
  /** Full address of the client, for rows. */
  readonly address: string;
  /** The address as a limit key: IPv6 by /64. */
  readonly limitAddress: string;
  /** Counts limits that need a body value; the reply reports what remains of them. */
  readonly limits: RequestLimits;
  readonly userAgent: string | null;
  readonly correlationId: string;
  readonly log: Logger;
}
