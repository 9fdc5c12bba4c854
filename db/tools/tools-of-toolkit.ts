import { LockMode } from '@mikro-orm/core';
import { sql } from 'kysely';
import { query } from '../query.ts';
import { rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { Tool } from './tool.entity.ts';

/** Locks all tools that the toolkit has ever had. */
export function lockToolsOfToolkit(tx: TenantTransaction, toolkitId: string): Promise<Tool[]> {
  return tx.em.find(Tool, { toolkitId }, { lockMode: LockMode.PESSIMISTIC_WRITE });
}

/** Returns the tools of a toolkit that runs may use, among those with these names. */
export function servedTools(tx: TenantTransaction, toolkitId: string, names: readonly string[]): Promise<Tool[]> {
  return tx.em.find(Tool, { toolkitId, deletedAt: null, quarantinedAt: null, remoteName: { $in: [...names] } });
}

/** Returns the current config of each tool of a toolkit, by the tool's name in the toolkit. */
export async function configsInForce(tx: TenantTransaction, toolkitId: string): Promise<ReadonlyMap<string | null, Tool['config']>> {
  const found = await rows(
    tx.em,
    query
      .selectFrom('tools as t')
      .select(['t.remoteName', 't.config'])
      .where('t.toolkitId', '=', toolkitId)
      .where('t.deletedAt', 'is', null),
  );
  return new Map(found.map((tool) => [tool.remoteName, tool.config]));
}

/** Returns the ids of all tools that the toolkit has ever had: a deleted tool returns with a revision that contains it. */
export async function toolsOfToolkit(tx: TenantTransaction, toolkitId: string): Promise<string[]> {
  const found = await rows(tx.em, query.selectFrom('tools as t').select('t.id').where('t.toolkitId', '=', toolkitId));
  return found.map(({ id }) => id);
}

/** Returns the number of the newest version of each tool. */
export async function newestVersions(tx: TenantTransaction, toolIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const newest = await rows(
    tx.em,
    query
      .selectFrom('tool_versions as v')
      .select(({ fn }) => ['v.toolId', fn.max('v.version').as('version')])
      .where('v.toolId', '=', sql<string>`any(${[...toolIds]}::uuid[])`)
      .groupBy('v.toolId'),
  );
  return new Map(newest.map(({ toolId, version }) => [toolId, version]));
}
