import { sql } from 'kysely';
import { query } from '../query.ts';
import { change } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** Marks a toolkit and its tools as deleted. */
export async function deleteToolkitRows(tx: TenantTransaction, toolkitId: string): Promise<void> {
  const now = sql<string>`now()`;
  await change(
    tx.em,
    query
      .updateTable('tools')
      .set(({ eb }) => ({ deletedAt: now, rowVersion: eb('rowVersion', '+', 1), updatedAt: now }))
      .where('toolkitId', '=', toolkitId)
      .where('deletedAt', 'is', null),
  );
  await change(
    tx.em,
    query
      .updateTable('toolkits')
      .set(({ eb }) => ({ deletedAt: now, nextSyncAt: null, rowVersion: eb('rowVersion', '+', 1), updatedAt: now }))
      .where('id', '=', toolkitId),
  );
}

/** Deletes every grant of a toolkit: its server or its credentials have changed, and tokens go to their issuer only. */
export async function deleteConnections(tx: TenantTransaction, toolkitId: string): Promise<void> {
  const ofToolkit = query.selectFrom('mcp_connections as c').select('c.id').where('c.toolkitId', '=', toolkitId);
  await change(tx.em, query.deleteFrom('mcp_authorizations').where('connectionId', 'in', ofToolkit));
  await change(tx.em, query.deleteFrom('mcp_connections').where('toolkitId', '=', toolkitId));
}
