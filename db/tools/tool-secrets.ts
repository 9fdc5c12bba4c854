import type { KeyRing } from '../identity/key-ring.ts';
import { newId } from '../ids.ts';
import { secretBinding } from '../secrets/secret-binding.ts';
import { change, row, rows } from '../sql.ts';
import { seal } from '../tenancy/envelope.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { Tool } from './tool.entity.ts';

/**
 * Sets a value of the tool's own, made or replaced; each gets a number of its own, to which it is bound. The tool is locked, so two at
 * once come one after the other. Gives the number.
 */
export async function putToolSecret(
  tx: TenantTransaction,
  keys: Pick<KeyRing, 'keks'>,
  put: { readonly tool: Tool; readonly name: string; readonly value: string; readonly userId: string | null },
): Promise<number> {
  const { tool, name } = put;
  const { organizationId, workspaceId } = tool;
  // Makes or locks the row: the value is sealed for its number, which only then is known.
  const locked = await row<{ id: string; value_version: number }>(
    tx.em,
    `insert into secrets (id, scope, organization_id, workspace_id, tool_id, name, value_envelope, value_version) values (?, ?, ?, ?, ?, ?, '', 0)
     on conflict (tool_id, name) where tool_id is not null do update set name = excluded.name returning id, value_version`,
    [newId(), tool.scope, organizationId, workspaceId, tool.id, name],
  );
  if (!locked) throw new Error('A secret was put and is not visible: the transaction is of another tenant');

  const value_version = locked.value_version + 1;
  const place = { organization_id: organizationId, workspace_id: workspaceId, tool_id: tool.id, name, value_version };
  const envelope = await seal(tx.em, keys, secretBinding(place), Buffer.from(put.value));
  await rows(
    tx.em,
    'update secrets set value_envelope = ?, value_version = ?, updated_by_user_id = ?, updated_at = now(), version = version + 1 where id = ?',
    [envelope, value_version, put.userId, locked.id],
  );
  return value_version;
}

/** False when the tool has no value of its own under that name. */
export async function deleteToolSecretRow(tx: TenantTransaction, toolId: string, name: string): Promise<boolean> {
  return (await change(tx.em, 'delete from secrets where tool_id = ? and name = ?', [toolId, name])) > 0;
}
