import { type Role, type Scope } from '../workflows/contracts/access.ts';

export type PrincipalKind = 'user' | 'service_key' | 'oauth_client' | 'ingress';

/** The holder of a request's credential, whom it acts for, and what it may see. Frozen; role and scope are the effective ones. */
export interface Caller {
  readonly kind: PrincipalKind | 'nobody';
  /** User id, service key id or client row id; null for nobody. During an impersonation, the operator's user id. */
  readonly principalId: string | null;
  /** The user whose rows count as the caller's own: the acting user under delegation, the target of an impersonation, null for keys and nobody. */
  readonly userId: string | null;
  readonly actingUserId: string | null;
  readonly impersonationId: string | null;
  readonly sessionId: string | null;
  /** `client_id` of the OAuth client that holds the token; null for every other credential. */
  readonly clientId: string | null;
  /** Effective role: the lower of the home role (or the key's and its creator's roles) and the acting user's role. */
  readonly role: Role;
  /** The role that the credential's holder had at the time, for audit. */
  readonly ownRole: Role;
  readonly scope: Scope;
  readonly organizationId: string | null;
  /** Home workspace of a workspace-scoped caller; else the workspace of a key or of X-View-Workspace; else null. */
  readonly workspaceId: string | null;
  /** Effective role by workspace id; `all` for organization-scoped callers and operators. */
  readonly workspaces: ReadonlyMap<string, Role> | 'all';
  /** Scopes of the credential; null means unrestricted (user sessions). */
  readonly scopes: readonly string[] | null;
  /** Narrowing by X-View-*; operators only. */
  readonly view: { readonly organizationId: string; readonly workspaceId: string | null } | null;
  /** What the session lacks while its organization demands a second factor: every operation answers 401 mfa_required except those that lift the restriction. */
  readonly restriction: 'enrolment_required' | 'step_up_required' | null;
  /** How long the session counts as freshly verified by its second factor or, without one, its password. Null once that lapses, and for other credentials. */
  readonly freshUntil: Date | null;
}

/** The five session settings that the row-level policies read (`app.org`, `app.ws`, `app.ws_all`, `app.user`, `app.operator`). */
export interface TenantSettings {
  readonly organizationId: string | null;
  readonly userId: string | null;
  readonly workspaceIds: readonly string[];
  readonly hasAllWorkspaces: boolean;
  readonly isOperator: boolean;
}

/** The actor that `created_by`, audit rows and usage record. */
export interface Actor {
  readonly kind: 'user' | 'service_key' | 'oauth_client' | 'operator' | 'agent_run' | 'ingress' | 'system';
  readonly id: string | null;
  readonly role: Role | null;
  readonly actingUserId: string | null;
  readonly impersonationId: string | null;
}
