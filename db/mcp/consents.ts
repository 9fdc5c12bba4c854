import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { now } from '../expressions.ts';
import type { KeyRing } from '../key-ring.ts';
import { query } from '../query.ts';
import { change, row } from '../sql.ts';
import { encrypt } from '../envelope.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { McpConnectionRow, McpPrincipal } from './connection-queries.ts';
import { openConsent } from './consent-queries.ts';
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
  const binding = authorizationBinding(connection.organizationId, stateHash);
  const envelope = await encrypt(tx.em, keys, binding, Buffer.from(JSON.stringify(begun.consent)));
  // One at a time: an older link of this connection becomes invalid.
  await change(
    tx.em,
    query.deleteFrom('mcp_authorizations').where(({ eb, or }) => or([eb('connectionId', '=', connection.id), eb('expiresAt', '<', now)])),
  );
  await change(
    tx.em,
    query.insertInto('mcp_authorizations').values({
      stateHash,
      connectionId: connection.id,
      organizationId: connection.organizationId,
      workspaceId: connection.workspaceId,
      verifierEnc: envelope,
      expiresAt: sql<string>`now() + make_interval(secs => ${begun.lifeS}::int)`,
      createdAt: now,
    }),
  );
  await change(
    tx.em,
    query
      .updateTable('mcp_connections')
      .set(({ eb }) => ({
        state: 'needs_auth' as const,
        authorizationUrl: begun.url,
        rowVersion: eb('rowVersion', '+', 1),
        updatedAt: now,
      }))
      .where('id', '=', connection.id),
  );
}

/** Stores the returned code, encrypted, with its consent. Returns false when the state is unknown, used, expired, or of another toolkit or principal. */
export async function storeCode(tx: TenantTransaction, keys: Keks, back: ReturnedCode): Promise<boolean> {
  const stored = await row(
    tx.em,
    query
      .selectFrom('mcp_authorizations as a')
      .innerJoin('mcp_connections as c', 'c.id', 'a.connectionId')
      .select(['a.stateHash', 'a.organizationId', 'a.verifierEnc'])
      .where('a.stateHash', '=', hashOf(back.state))
      .where('a.usedAt', 'is', null)
      .where('a.expiresAt', '>', now)
      .where('c.toolkitId', '=', back.toolkitId)
      .where('c.principalKind', '=', back.principal.kind)
      .where('c.principalId', 'is not distinct from', back.principal.id)
      .forUpdate('a'),
  );
  if (!stored) return false;

  const consent = await openConsent(tx, keys, stored);
  const binding = authorizationBinding(stored.organizationId, stored.stateHash);
  const envelope = await encrypt(tx.em, keys, binding, Buffer.from(JSON.stringify({ ...consent, code: back.code })));
  await change(
    tx.em,
    query
      .updateTable('mcp_authorizations')
      .set({ usedAt: now, verifierEnc: envelope, expiresAt: sql<string>`now() + interval '10 minutes'` })
      .where('stateHash', '=', stored.stateHash),
  );
  return true;
}

/** Deletes a consent whose code has come back. */
export async function deleteConsent(tx: TenantTransaction, stateHash: string): Promise<void> {
  await change(tx.em, query.deleteFrom('mcp_authorizations').where('stateHash', '=', stateHash));
}

function hashOf(state: string): string {
  return createHash('sha256').update(state).digest('hex');
}
