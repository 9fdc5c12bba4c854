import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { change, rows } from '../sql.ts';
import { inChain, organizationOfChain } from './chain.ts';
import { sealColumns, type Seal } from './check-seal.ts';

/** Makes all reads of a transaction one snapshot. Must be its first statement. */
export async function openSnapshot(em: SqlEntityManager): Promise<void> {
  await change(em, 'set transaction isolation level repeatable read, read only');
}

/** Returns the seals of a chain after a number, in order, at most `limit`. */
export async function readSeals(
  em: SqlEntityManager,
  chain: string,
  { after, limit }: { readonly after: number | null; readonly limit: number },
): Promise<Seal[]> {
  return rows<Seal>(em, `select ${sealColumns} from audit_seals where chain = ? and seal_no > ?::bigint order by seal_no limit ?`, [
    chain,
    after ?? 0,
    limit,
  ]);
}

/** Returns entries that carry a number or a seal and belong to none, in the order of their numbers. */
export async function readStrays(
  em: SqlEntityManager,
  chain: string,
  limit: number,
): Promise<{ readonly id: string; readonly seq: number | null; readonly seal_no: number | null }[]> {
  const own = inChain(organizationOfChain(chain), 'e');
  return rows<{ id: string; seq: number | null; seal_no: number | null }>(
    em,
    `select e.id, e.seq, e.seal_no from audit_entries e
     where ${own.sql} and (e.seq is not null or e.seal_no is not null) and not exists (
       select from audit_seals s where s.chain = ? and s.seal_no = e.seal_no and s.purged_at is null and e.seq between s.first_seq and s.last_seq)
     order by e.seq, e.id limit ?`,
    [...own.params, chain, limit],
  );
}
