import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { type RawBuilder, sql } from 'kysely';
import { Condition } from '../condition.ts';
import { query } from '../query.ts';
import { row, rows } from '../sql.ts';

/** The chain of entries that belong to no organization. */
export const platformChain = 'platform';

/** Returns the name of an organization's chain; null is the platform. */
export function chainOf(organizationId: string | null): string {
  return organizationId ?? platformChain;
}

/** Returns the organization of a chain; null is the platform. */
export function organizationOfChain(chain: string): string | null {
  return chain === platformChain ? null : chain;
}

/** Rows of one chain as a condition; two forms, since an index cannot serve `is not distinct from`. */
export function inChain(organizationId: string | null, alias?: string): Condition {
  const column = alias === undefined ? 'organization_id' : `${alias}.organization_id`;
  return organizationId === null ? new Condition(`${column} is null`) : new Condition(`${column} = ?::uuid`, [organizationId]);
}

const lockOf = (chain: string): RawBuilder<number> => sql`hashtextextended('audit chain ' || ${chain}::text, 0)`;

/** Waits for the chain's lock and holds it until the end of the transaction. The next statement sees what its last holder wrote. */
export async function lockChain(em: SqlEntityManager, chain: string): Promise<void> {
  await row(em, query.selectNoFrom(sql`pg_advisory_xact_lock(${lockOf(chain)})`.as('locked')));
}

/** Locks the chain until the end of the transaction: only one holder at a time seals it or deletes from it. Returns false when another holds it. */
export async function tryLockChain(em: SqlEntityManager, chain: string): Promise<boolean> {
  const taken = await row(em, query.selectNoFrom(sql<boolean>`pg_try_advisory_xact_lock(${lockOf(chain)})`.as('taken')));
  return taken?.taken === true;
}

/** Returns the names of all chains that have seals or sealed entries. Sweeper's pool. */
export async function auditChains(em: SqlEntityManager): Promise<string[]> {
  const sealed = query
    .selectFrom('audit_entries')
    .where('seq', 'is not', null)
    .select(sql<string>`coalesce(organization_id::text, ${sql.lit(platformChain)})`.as('chain'));
  const found = await rows(em, query.selectFrom('audit_seals').select('chain').union(sealed).orderBy('chain'));
  return found.map(({ chain }) => chain);
}
