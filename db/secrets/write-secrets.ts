import { rows, row, change } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { RowScope } from '../new-row-scope.ts';
import { newId } from '../ids.ts';
import { secretColumns, type SecretRow } from './secrets.ts';

/** Deletes the values that tools have of their own. Returns their names. */
export async function dropOwnSecrets(tx: TenantTransaction, toolIds: readonly string[]): Promise<string[]> {
  const dropped = await rows<{ name: string }>(tx.em, 'delete from secrets where tool_id = any(?::uuid[]) returning name', [[...toolIds]]);
  return [...new Set(dropped.map(({ name }) => name))];
}

/** A secret's state before it was put. */
export interface SecretBefore {
  readonly value_version: number;
  readonly description: string | null;
}

/** Creates or locks the row of a name in a row scope; a created row has version 0 and no value. */
export async function lockSecretRow(
  tx: TenantTransaction,
  { organizationId, workspaceId, scope }: RowScope,
  name: string,
): Promise<{ readonly id: string } & SecretBefore> {
  const target = { workspace: 'workspace_id, name', organization: 'organization_id, name', platform: 'name' }[scope];
  const locked = await row<{ id: string } & SecretBefore>(
    tx.em,
    `insert into secrets (id, scope, organization_id, workspace_id, name, value_envelope, value_version) values (?, ?, ?, ?, ?, '', 0)
     on conflict (${target}) where scope = '${scope}' and tool_id is null do update set name = excluded.name
     returning id, value_version, description`,
    [newId(), scope, organizationId, workspaceId, name],
  );
  if (!locked) throw new Error('A secret was put and is not visible: the transaction is of another tenant');
  return locked;
}

/** An encrypted value and what else a put writes. */
export interface WrittenSecret {
  readonly envelope: Buffer;
  readonly value_version: number;
  readonly description: string | null;
  readonly updatedByUserId: string | null;
}

/** Writes a value into a locked row. */
export async function writeSecretRow(
  tx: TenantTransaction,
  id: string,
  { envelope, value_version, description, updatedByUserId }: WrittenSecret,
): Promise<SecretRow> {
  const [written] = await rows<SecretRow>(
    tx.em,
    `update secrets s set value_envelope = ?, value_version = ?, description = ?, updated_by_user_id = ?, updated_at = now(), version = s.version + 1
     where s.id = ? returning ${secretColumns}`,
    [envelope, value_version, description, updatedByUserId, id],
  );
  if (!written) throw new Error('A secret that was locked is gone');
  return written;
}

/** Records a use: at most once a minute, so that concurrent runs don't wait for each other. A tenant can't mark a platform row, so that one isn't marked. */
export async function markUsed(tx: TenantTransaction, id: string): Promise<void> {
  await change(
    tx.em,
    "update secrets set last_used_at = now() where id = ? and (last_used_at is null or last_used_at < now() - interval '60 seconds')",
    [id],
  );
}
