import type { KeyRing } from '../identity/keys/key-ring.ts';
import { row } from '../sql.ts';
import { open } from '../tenancy/keys/envelope.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { authorizationBinding, type McpConsent } from './grant.ts';

type Keks = Pick<KeyRing, 'keks'>;

/** A consent as its row holds it. */
export interface StoredConsent {
  readonly state_hash: string;
  readonly connection_id: string;
  readonly organization_id: string | null;
  readonly verifier_enc: Buffer;
}

export interface ReturnedConsent {
  readonly stateHash: string;
  readonly consent: McpConsent;
}

/** Returns the consent of a connection whose code has come back and waits to be exchanged. */
export async function findReturned(tx: TenantTransaction, keys: Keks, connectionId: string): Promise<ReturnedConsent | null> {
  const stored = await row<StoredConsent>(
    tx.em,
    `select state_hash, connection_id, organization_id, verifier_enc from mcp_authorizations
      where connection_id = ? and used_at is not null and expires_at > now() order by used_at desc limit 1`,
    [connectionId],
  );
  return stored && { stateHash: stored.state_hash, consent: await openConsent(tx, keys, stored) };
}

/** Returns the decrypted content of a consent's row. */
export async function openConsent(tx: TenantTransaction, keys: Keks, stored: StoredConsent): Promise<McpConsent> {
  const text = await open(tx.em, keys, authorizationBinding(stored.organization_id, stored.state_hash), stored.verifier_enc);
  return JSON.parse(text.toString()) as McpConsent; // written only by insertConsent and storeCode
}
