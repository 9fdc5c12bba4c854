import { createHash } from 'node:crypto';
import type { KeyRing } from '../identity/key-ring.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { change, row } from '../sql.ts';
import { open, seal } from '../tenancy/envelope.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { McpConnectionRow, McpPrincipal } from './connections.ts';
import { authorizationBinding, type McpConsent } from './grant.ts';

type Keks = Pick<KeyRing, 'keks'>;

interface StoredConsent {
  readonly state_hash: string;
  readonly connection_id: string;
  readonly organization_id: string | null;
  readonly verifier_enc: Buffer;
}

export interface ReturnedConsent {
  readonly stateHash: string;
  readonly consent: McpConsent;
}

/** Begins a consent: its state opens it once, within `lifeS` seconds. The connection tells where the person has to go. */
export async function beginConsent(
  tx: TenantTransaction,
  keys: Keks,
  begun: {
    readonly connection: McpConnectionRow;
    readonly state: string;
    readonly consent: McpConsent;
    readonly url: string;
    readonly lifeS: number;
  },
): Promise<void> {
  const { connection } = begun;
  const stateHash = hashOf(begun.state);
  const binding = authorizationBinding(connection.organization_id, stateHash);
  const envelope = await seal(tx.em, keys, binding, Buffer.from(JSON.stringify(begun.consent)));
  // One at a time: an older link of this connection opens nothing any more.
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

/**
 * Takes the code that came back, sealed, for the sync that exchanges it: 422 when the state is unknown, spent, too old, or of another
 * toolkit or principal; one answer for all.
 */
export async function takeCode(
  tx: TenantTransaction,
  keys: Keks,
  back: { readonly toolkitId: string; readonly principal: McpPrincipal; readonly code: string; readonly state: string },
): Promise<void> {
  const stored = await row<StoredConsent>(
    tx.em,
    `select a.state_hash, a.connection_id, a.organization_id, a.verifier_enc from mcp_authorizations a join mcp_connections c on c.id = a.connection_id
      where a.state_hash = ? and a.used_at is null and a.expires_at > now() and c.toolkit_id = ? and c.principal_kind = ?
        and c.principal_id is not distinct from ?::uuid for update of a`,
    [hashOf(back.state), back.toolkitId, back.principal.kind, back.principal.id],
  );
  if (!stored) throw stateRefused();

  const consent = await openConsent(tx, keys, stored);
  const binding = authorizationBinding(stored.organization_id, stored.state_hash);
  const envelope = await seal(tx.em, keys, binding, Buffer.from(JSON.stringify({ ...consent, code: back.code })));
  await change(
    tx.em,
    "update mcp_authorizations set used_at = now(), verifier_enc = ?, expires_at = now() + interval '10 minutes' where state_hash = ?",
    [envelope, stored.state_hash],
  );
}

/** The consent of a connection whose code has come back and waits to be exchanged. */
export async function findReturned(tx: TenantTransaction, keys: Keks, connectionId: string): Promise<ReturnedConsent | null> {
  const stored = await row<StoredConsent>(
    tx.em,
    `select state_hash, connection_id, organization_id, verifier_enc from mcp_authorizations
      where connection_id = ? and used_at is not null and expires_at > now() order by used_at desc limit 1`,
    [connectionId],
  );
  return stored && { stateHash: stored.state_hash, consent: await openConsent(tx, keys, stored) };
}

/** A code is good for one exchange, whatever came of it. */
export async function endConsent(tx: TenantTransaction, stateHash: string): Promise<void> {
  await change(tx.em, 'delete from mcp_authorizations where state_hash = ?', [stateHash]);
}

async function openConsent(tx: TenantTransaction, keys: Keks, stored: StoredConsent): Promise<McpConsent> {
  const text = await open(tx.em, keys, authorizationBinding(stored.organization_id, stored.state_hash), stored.verifier_enc);
  return JSON.parse(text.toString()) as McpConsent; // written here alone
}

function stateRefused() {
  const message = 'is unknown, used, too old or of another toolkit';
  return fail('validation_failed', {
    detail: 'The authorization does not belong to a consent that is under way.',
    errors: [{ in: 'body', pointer: '/authorization/state', name: null, rule: 'state', message }],
  });
}

function hashOf(state: string): string {
  return createHash('sha256').update(state).digest('hex');
}
