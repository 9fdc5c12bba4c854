import type { RowScope } from '../../db/new-row-scope.ts';
import type { KeyRing } from '../../db/key-ring.ts';
import { removeOne, seeForChange, type Changing } from '../../db/scope.ts';
import { encrypt } from '../../db/envelope.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { secretBinding } from '../../db/encrypted-columns.ts';
import { Secret } from '../../db/secrets/secret.entity.ts';
import { toolsInNeedOf } from '../../db/secrets/secret-use.ts';
import { findSecretId, type SecretRow } from '../../db/secrets/secrets.ts';
import { lockSecretRow, writeSecretRow, type SecretBefore } from '../../db/secrets/write-secrets.ts';

export interface SecretValue {
  readonly name: string;
  readonly value: string;
  /** Undefined: stays as it is; null: is cleared. */
  readonly description: string | null | undefined;
}

/** Creates or replaces a value in a row scope; concurrent writes are serialised. Each value gets a version number of its own. */
export async function putSecretRow(
  tx: TenantTransaction & { readonly caller: Changing['caller'] },
  keys: Pick<KeyRing, 'keks'>,
  put: { readonly rowScope: RowScope; readonly secret: SecretValue },
): Promise<{ row: SecretRow; before: SecretBefore | null }> {
  const { rowScope, secret } = put;
  const { organizationId, workspaceId } = rowScope;
  // The value is encrypted for its version number, which is known once the row is locked.
  const locked = await lockSecretRow(tx, rowScope, secret.name);

  const valueVersion = locked.valueVersion + 1;
  const place = { organizationId, workspaceId, toolId: null, name: secret.name, valueVersion };
  const envelope = await encrypt(tx.em, keys, secretBinding(place), Buffer.from(secret.value));
  const description = secret.description === undefined ? locked.description : secret.description;
  const written = await writeSecretRow(tx, locked.id, { envelope, valueVersion, description, updatedByUserId: tx.caller.userId });
  return { row: written, before: locked.valueVersion === 0 ? null : locked };
}

/**
 * Deletes the value of a name in one row scope; returns its row. Throws 404 when the caller sees none; 409 `still_referenced` while a tool needs it and would
 * find no other value, with the ids of at most 20 tools.
 */
export async function deleteSecret(ctx: Changing, place: Pick<RowScope, 'scope' | 'workspaceId'>, name: string): Promise<Secret> {
  const id = await findSecretId(ctx, place, name);
  if (id === null) throw fail('not_found');
  const secret = await seeForChange(ctx, Secret, id, { versionProperty: null, openWhenSuspended: true });
  const usedBy = await toolsInNeedOf(ctx, secret);
  if (usedBy.length > 0)
    throw fail('state_conflict', {
      reason: 'still_referenced',
      detail: 'A tool needs this secret and has no other value for it.',
      context: { used_by: usedBy },
    });
  await removeOne(ctx.em, Secret, id);
  return secret;
}
