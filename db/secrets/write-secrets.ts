import { sql } from 'kysely';
import { newId } from '../ids.ts';
import type { RowScope } from '../new-row-scope.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { rows, row, change } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { secretColumns, type SecretRow } from './secrets.ts';

/** Deletes the values that tools have of their own. Returns their names. */
export async function dropOwnSecrets(tx: TenantTransaction, toolIds: readonly string[]): Promise<string[]> {
  const dropped = await rows(
    tx.em,
    query
      .deleteFrom('secrets')
      .where(sql<boolean>`tool_id = any(${toolIds}::uuid[])`)
      .returning('name'),
  );
  return [...new Set(dropped.map(({ name }) => name))];
}

/** A secret's state before it was put. */
export type SecretBefore = Awaited<ReturnType<typeof lockSecretRow>>;

/** The columns that make a name unique in a row scope. */
const uniqueIn = {
  workspace: ['workspaceId', 'name'],
  organization: ['organizationId', 'name'],
  platform: ['name'],
} as const;

/** Creates or locks the row of a name in a row scope; a created row has version 0 and no value. */
export async function lockSecretRow(tx: TenantTransaction, { organizationId, workspaceId, scope }: RowScope, name: string) {
  const locked = await row(
    tx.em,
    query
      .insertInto('secrets')
      .values({ id: newId(), scope, organizationId, workspaceId, name, valueEnvelope: Buffer.of(), valueVersion: 0 })
      .onConflict((conflict) =>
        conflict
          .columns(uniqueIn[scope])
          .where('scope', '=', sql.lit(scope))
          .where('toolId', 'is', null)
          .doUpdateSet(({ ref }) => ({ name: ref('excluded.name'), updatedAt: ref('secrets.updatedAt') })),
      )
      .returning(['id', 'valueVersion', 'description']),
  );
  if (!locked) throw new Error('A secret was put and is not visible: the transaction is of another tenant');
  return locked;
}

/** An encrypted value and what else a put writes. */
export interface WrittenSecret {
  readonly envelope: Buffer;
  readonly valueVersion: number;
  readonly description: string | null;
  readonly updatedByUserId: string | null;
}

/** Writes a value into a locked row. */
export async function writeSecretRow(
  tx: TenantTransaction,
  id: string,
  { envelope, valueVersion, description, updatedByUserId }: WrittenSecret,
): Promise<SecretRow> {
  const written = await row(
    tx.em,
    query
      .updateTable('secrets')
      .set(({ eb }) => ({
        valueEnvelope: envelope,
        valueVersion,
        description,
        updatedByUserId,
        updatedAt: sql<string>`now()`,
        version: eb('version', '+', 1),
      }))
      .where('id', '=', id)
      .returning(secretColumns),
  );
  if (!written) throw new Error('A secret that was locked is gone');
  return written;
}

const marking = prepared(({ id }: ParametersOf<{ readonly id: string }>) =>
  query
    .updateTable('secrets')
    // A use is no change of the secret.
    .set(({ ref }) => ({ lastUsedAt: sql<string>`now()`, updatedAt: ref('updatedAt') }))
    .where('id', '=', id)
    .where(({ eb, or }) => or([eb('lastUsedAt', 'is', null), eb('lastUsedAt', '<', sql<string>`now() - interval '60 seconds'`)])),
);

/** Records a use: at most once a minute, so that concurrent runs don't wait for each other. A tenant can't mark a platform row, so that one isn't marked. */
export async function markUsed(tx: TenantTransaction, id: string): Promise<void> {
  await change(tx.em, marking({ id }));
}
