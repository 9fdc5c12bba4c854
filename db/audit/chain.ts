import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { row, rows } from '../sql.ts';
import type { Predicate } from '../scope.ts';

/** The chain of what happened outside every organization. */
export const platformChain = 'platform';

/** Name of the chain of an organization; null is the platform. */
export function chainOf(organizationId: string | null): string {
  return organizationId ?? platformChain;
}

/** The organization of a chain; null is the platform. */
export function organizationOfChain(chain: string): string | null {
  return chain === platformChain ? null : chain;
}

/** Rows of one chain as a condition; two forms, since `is not distinct from` is no condition of an index. */
export function inChain(organizationId: string | null, alias?: string): Predicate {
  const column = alias === undefined ? 'organization_id' : `${alias}.organization_id`;
  return organizationId === null ? { sql: `${column} is null`, params: [] } : { sql: `${column} = ?::uuid`, params: [organizationId] };
}

const lockOf = "hashtextextended('audit chain ' || ?::text, 0)";

/** Waits for the chain and takes it until the transaction's end. What its last holder wrote is seen by the next statement. */
export async function lockChain(em: SqlEntityManager, chain: string): Promise<void> {
  await row(em, `select pg_advisory_xact_lock(${lockOf})`, [chain]);
}

/** Takes the chain until the transaction's end: one at a time seals it or takes away from it. False when another has it. */
export async function tryLockChain(em: SqlEntityManager, chain: string): Promise<boolean> {
  const taken = await row<{ taken: boolean }>(em, `select pg_try_advisory_xact_lock(${lockOf}) as taken`, [chain]);
  return taken?.taken === true;
}

/** Names of all chains that have seals or sealed entries. Sweeper's pool. */
export async function auditChains(em: SqlEntityManager): Promise<string[]> {
  const found = await rows<{ chain: string }>(
    em,
    `select chain from audit_seals union select coalesce(organization_id::text, 'platform') from audit_entries where seq is not null order by 1`,
  );
  return found.map(({ chain }) => chain);
}
