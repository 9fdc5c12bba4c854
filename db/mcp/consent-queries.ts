import { type Selectable, sql } from 'kysely';
import type { KeyRing } from '../key-ring.ts';
import { query } from '../query.ts';
import { row } from '../sql.ts';
import type { Tables } from '../table-types.ts';
import { decrypt } from '../envelope.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { authorizationBinding, type McpConsent } from './grant.ts';

type Keks = Pick<KeyRing, 'keks'>;

/** A consent as its row holds it. */
export type StoredConsent = Pick<Selectable<Tables['mcp_authorizations']>, 'organizationId' | 'stateHash' | 'verifierEnc'>;

export interface ReturnedConsent {
  readonly stateHash: string;
  readonly consent: McpConsent;
}

/** Returns the consent of a connection whose code has come back and waits to be exchanged. */
export async function findReturned(tx: TenantTransaction, keys: Keks, connectionId: string): Promise<ReturnedConsent | null> {
  const stored = await row(
    tx.em,
    query
      .selectFrom('mcp_authorizations')
      .select(['stateHash', 'organizationId', 'verifierEnc'])
      .where('connectionId', '=', connectionId)
      .where('usedAt', 'is not', null)
      .where('expiresAt', '>', sql<string>`now()`)
      .orderBy('usedAt', 'desc')
      .limit(1),
  );
  return stored && { stateHash: stored.stateHash, consent: await openConsent(tx, keys, stored) };
}

/** Returns the decrypted content of a consent's row. */
export async function openConsent(tx: TenantTransaction, keys: Keks, stored: StoredConsent): Promise<McpConsent> {
  const text = await decrypt(tx.em, keys, authorizationBinding(stored.organizationId, stored.stateHash), stored.verifierEnc);
  return JSON.parse(text.toString()) as McpConsent; // written only by insertConsent and storeCode
}
