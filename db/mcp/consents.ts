import { createHash } from 'node:crypto';
import type { KeyRing } from '../identity/keys/key-ring.ts';
import { change, row } from '../sql.ts';
import { seal } from '../tenancy/keys/envelope.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { McpConnectionRow, McpPrincipal } from './connection-queries.ts';
import { openConsent, type StoredConsent } from './consent-queries.ts';
import { authorizationBinding, type McpConsent } from './grant.ts';

type Keks = Pick<KeyRing, 'keks'>;

/** A consent that begins: its state may be used once, within `lifeS` seconds, and `url` is where the person has to go. */
export interface BegunConsent {
  readonly state: string;
  readonly consent: McpConsent;
  readonly url: string;
  readonly lifeS: number;
}

/** A code that a person brings back, and the toolkit and principal it must belong to. */
export interface ReturnedCode {
  readonly toolkitId: string;
  readonly principal: McpPrincipal;
  readonly code: string;
  readonly state: string;
}

/** Stores a consent, replacing an older one of its connection, and sets the URL in the connection's row. */
export async function insertConsent(tx: TenantTransaction, keys: Keks, connection: McpConnectionRow, begun: BegunConsent): Promise<void> {
  const stateHash = hashOf(begun.state);
  const binding = authorizationBinding(connection.organization_id, stateHash);
  const envelope = await seal(tx.em, keys, binding, Buffer.from(JSON.stringify(begun.consent)));
  // One at a time: an older link of this connection becomes invalid.
  await change(tx.em, 'delete from mcp_authorizations where connection_id = ? or expires_at < now()', [connection.id]);
  await change(
    tx.em,
    `insert into mcp_authorizations (state_hash, connection_id, organization_id, workspace_id, verifier_enc, expires_at, created_at)
     values (?, ?, ?, ?, ?, now() + make_interval(secs => ?::int), now())`,
    [stateHash, connection.id, connection.organization_id, connection.workspace_id, envelope, begun.lifeS],
  );
  await change(
    tx.em,
    `update mcp_connections set state = 'needs_auth', authorization_url = ?, row_version = row_version + 1, updated_at = now() where id = ?`,
    [begun.url, connection.id],
  );
}

/** Stores the returned code, encrypted, with its consent. Returns false when the state is unknown, used, expired, or of another toolkit or principal. */
export async function storeCode(tx: TenantTransaction, keys: Keks, back: ReturnedCode): Promise<boolean> {
  const stored = await row<StoredConsent>(
    tx.em,
    `select a.state_hash, a.connection_id, a.organization_id, a.verifier_enc from mcp_authorizations a join mcp_connections c on c.id = a.connection_id
      where a.state_hash = ? and a.used_at is null and a.expires_at > now() and c.toolkit_id = ? and c.principal_kind = ?
        and c.principal_id is not distinct from ?::uuid for update of a`,
    [hashOf(back.state), back.toolkitId, back.principal.kind, back.principal.id],
  );
  if (!stored) return false;

  const consent = await openConsent(tx, keys, stored);
  const binding = authorizationBinding(stored.organization_id, stored.state_hash);
  const envelope = await seal(tx.em, keys, binding, Buffer.from(JSON.stringify({ ...consent, code: back.code })));
  await change(
    tx.em,
    "update mcp_authorizations set used_at = now(), verifier_enc = ?, expires_at = now() + interval '10 minutes' where state_hash = ?",
    [envelope, stored.state_hash],
  );
  return true;
}

/** Deletes a consent whose code has come back. */
export async function deleteConsent(tx: TenantTransaction, stateHash: string): Promise<void> {
  await change(tx.em, 'delete from mcp_authorizations where state_hash = ?', [stateHash]);
}

function hashOf(state: string): string {
  return createHash('sha256').update(state).digest('hex');
}
