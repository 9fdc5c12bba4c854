import type { Scope } from '../../workflows/contracts/access.ts';
import type { KeyRing } from '../../db/key-ring.ts';
import { decrypt } from '../../db/envelope.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { secretBinding } from '../../db/encrypted-columns.ts';
import { markUsed } from '../../db/secrets/write-secrets.ts';
import { findNearest, type NamingRow } from '../../db/secrets/nearest-secret.ts';

/** Scopes from which a row of a scope takes values, nearest first: a row of a workspace can't leak an organization's value. */
const reachedScopes: Readonly<Record<Scope, readonly Scope[]>> = {
  workspace: ['workspace'],
  organization: ['workspace', 'organization'],
  platform: ['workspace', 'organization', 'platform'],
};

/**
 * Returns the decrypted value of a name for a row that names it: the tool's own, else that of the workspace, the organization, the platform, never from a scope
 * wider than the row's. Null when there is none. For activities, in the transaction of the workspace's tenant; the value must not enter any row, log, history
 * or frame.
 */
export async function resolveSecret(
  tx: TenantTransaction,
  keys: Pick<KeyRing, 'keks'>,
  { name, row: naming }: { readonly name: string; readonly row: NamingRow },
): Promise<string | null> {
  const found = await findNearest(tx, { name, row: naming, scopes: reachedScopes[naming.scope] });
  if (!found) return null;

  const value = await decrypt(tx.em, keys, secretBinding(found), found.valueEnvelope);
  await markUsed(tx, found.id);
  return value.toString();
}
