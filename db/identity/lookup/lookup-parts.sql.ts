import { freshUntil, isRevoked, restriction } from '../sessions/session-right.sql.ts';

/** Commands that a definer function may need on a table. */
export type TableCommand = 'select' | 'insert' | 'update' | 'delete';

/** The definer functions of one subject: their signatures, what `longhaul_gate` needs for them, and their definitions. */
export interface DefinerFunctions {
  readonly functions: readonly string[];
  readonly grants: Readonly<Record<string, readonly TableCommand[]>>;
  readonly sql: readonly string[];
}

/** A user with what determines rank and visibility; `isActive` is also false when the organization has been purged. */
export function personOf(userId: string): string {
  return `(
    select jsonb_build_object(
      'id', person.id, 'role', person.role, 'scope', person.scope, 'organizationId', person.organization_id, 'workspaceId', person.workspace_id,
      'isActive', person.is_active and person.deleted_at is null and home.purged_at is null,
      'isFactorRequired', coalesce(rules.require_mfa, false),
      'hasFactor', exists (select from totp_factors f where f.user_id = person.id and f.confirmed_at is not null),
      'grants', coalesce((select jsonb_object_agg(g.workspace_id, g.role) from workspace_grants g where g.user_id = person.id), '{}'))
    from users person
    left join organizations home on home.id = person.organization_id
    left join organization_settings rules on rules.organization_id = person.organization_id
    where person.id = ${userId})`;
}

/** A session `s` with its state by the database's clock. */
export const sessionJson = `jsonb_build_object(
  'id', s.id, 'userId', s.user_id, 'kind', s.kind, 'clientId', s.client_id, 'oauthScope', s.oauth_scope, 'resource', s.resource, 'lastSeenAt', s.last_seen_at,
  'freshUntil', ${freshUntil}, 'restriction', ${restriction}, 'isRevoked', ${isRevoked},
  'isOver', least(s.idle_expires_at, s.expires_at) <= now())`;

/** A service key `k` with its state by the database's clock. */
export const keyJson = `jsonb_build_object(
  'id', k.id, 'organizationId', k.organization_id, 'workspaceId', k.workspace_id, 'scope', k.scope, 'role', k.role, 'scopes', to_jsonb(k.scopes),
  'lastUsedAt', k.last_used_at, 'isDead', k.revoked_at is not null or coalesce(k.expires_at <= now(), false))`;

/** An OAuth client `c` with what decides about its requests; digests in hex. */
export const oauthClientJson = `jsonb_build_object(
  'id', c.id, 'clientId', c.client_id, 'kind', c.kind, 'clientName', c.client_name, 'redirectUris', to_jsonb(c.redirect_uris),
  'authMethod', c.token_endpoint_auth_method, 'secretHash', encode(c.secret_hash, 'hex'), 'registrationHash', encode(c.registration_hash, 'hex'),
  'grantTypes', to_jsonb(c.grant_types), 'scope', c.scope, 'organizationId', c.organization_id, 'workspaceId', c.workspace_id, 'role', c.role,
  'isDocumentFresh', coalesce(c.document_expires_at > now(), false), 'createdAt', c.created_at, 'lastUsedAt', c.last_used_at,
  'generation', coalesce(floor(extract(epoch from c.secret_rotated_at) * 1000), 0), 'isDeleted', c.deleted_at is not null,
  'isHomeGone', exists (select from organizations home where home.id = c.organization_id and home.purged_at is not null))`;

/** An impersonation `i` with its state by the database's clock, its operator and the user who is shown. */
export const impersonationJson = `jsonb_build_object(
  'id', i.id, 'isEnded', i.ended_at is not null, 'isOver', i.expires_at <= now(),
  'operator', ${personOf('i.operator_user_id')}, 'person', ${personOf('i.target_user_id')})`;

/** Returns the definition of a look-up: stable, definer's rights, fixed search path; it returns one jsonb or null. */
export function lookupFunction(signature: string, body: string): string {
  return `create or replace function ${signature} returns jsonb
  language sql stable security definer set search_path = pg_catalog, public, pg_temp as $gate$${body}$gate$`;
}
