import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { row, rows } from '../sql.ts';
import type { Predicate } from '../scope.ts';

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
export function inChain(organizationId: string | null, alias?: string): Predicate {
  const column = alias === undefined ? 'organization_id' : `${alias}.organization_id`;
  return organizationId === null ? { sql: `${column} is null`, params: [] } : { sql: `${column} = ?::uuid`, params: [organizationId] };
}

const lockOf = "hashtextextended('audit chain ' || ?::text, 0)";

/** Waits for the chain's lock and holds it until the end of the transaction. The next statement sees what its last holder wrote. */
export async function lockChain(em: SqlEntityManager, chain: string): Promise<void> {
  await row(em, `select pg_advisory_xact_lock(${lockOf})`, [chain]);
}

/** Locks the chain until the end of the transaction: only one holder at a time seals it or deletes from it. Returns false when another holds it. */
export async function tryLockChain(em: SqlEntityManager, chain: string): Promise<boolean> {
  const taken = await row<{ taken: boolean }>(em, `select pg_try_advisory_xact_lock(${lockOf}) as taken`, [chain]);
  return taken?.taken === true;
}

/** Returns the names of all chains that have seals or sealed entries. Sweeper's pool. */
export async function auditChains(em: SqlEntityManager): Promise<string[]> {
  const found = await rows<{ chain: string }>(
    em,
    `select chain from audit_seals union select coalesce(organization_id::text, 'platform') from audit_entries where seq is not null order by 1`,
  );
  return found.map(({ chain }) => chain);
}
