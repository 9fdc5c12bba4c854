import { now } from '../expressions.ts';
import type { KeyRing } from '../key-ring.ts';
import { newId } from '../ids.ts';
import { query } from '../query.ts';
import { secretBinding } from '../encrypted-columns.ts';
import { change, row } from '../sql.ts';
import { encrypt } from '../envelope.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { Tool } from './tool.entity.ts';

/**
 * Creates or replaces a value of the tool's own; each value has its own number, to which it is bound. The tool is locked, so concurrent calls run one after
 * another. Returns the number.
 */
export async function putToolSecret(
  tx: TenantTransaction,
  keys: Pick<KeyRing, 'keks'>,
  put: { readonly tool: Tool; readonly name: string; readonly value: string; readonly userId: string | null },
): Promise<number> {
  const { tool, name } = put;
  const { organizationId, workspaceId } = tool;
  // Creates or locks the row: the value is encrypted for its number, which is only known then.
  const locked = await row(
    tx.em,
    query
      .insertInto('secrets')
      .values({
        id: newId(),
        scope: tool.scope,
        organizationId,
        workspaceId,
        toolId: tool.id,
        name,
        valueEnvelope: Buffer.of(),
        valueVersion: 0,
        createdAt: now,
        updatedAt: now,
      })
      .onConflict((conflict) =>
        conflict
          .columns(['toolId', 'name'])
          .where('toolId', 'is not', null)
          .doUpdateSet(({ ref }) => ({ name: ref('excluded.name'), updatedAt: now })),
      )
      .returning(['id', 'valueVersion']),
  );
  if (!locked) throw new Error('A secret was put and is not visible: the transaction is of another tenant');

  const valueVersion = locked.valueVersion + 1;
  const place = { organizationId, workspaceId, toolId: tool.id, name, valueVersion };
  const valueEnvelope = await encrypt(tx.em, keys, secretBinding(place), Buffer.from(put.value));
  await change(
    tx.em,
    query
      .updateTable('secrets')
      .set(({ eb }) => ({
        valueEnvelope,
        valueVersion,
        updatedByUserId: put.userId,
        updatedAt: now,
        version: eb('version', '+', 1),
      }))
      .where('id', '=', locked.id),
  );
  return valueVersion;
}

/** Deletes a value of the tool's own; returns false when there is none under that name. */
export async function deleteToolSecretRow(tx: TenantTransaction, toolId: string, name: string): Promise<boolean> {
  return (await change(tx.em, query.deleteFrom('secrets').where('toolId', '=', toolId).where('name', '=', name))) > 0;
}
