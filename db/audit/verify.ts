import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { query } from '../query.ts';
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
  return rows(
    em,
    query
      .selectFrom('audit_seals')
      .select(sealColumns)
      .where('chain', '=', chain)
      .where('sealNo', '>', after ?? 0)
      .orderBy('sealNo')
      .limit(limit),
  );
}

/** Returns entries that carry a number or a seal and belong to none, in the order of their numbers. */
export function readStrays(em: SqlEntityManager, chain: string, limit: number) {
  return rows(
    em,
    query
      .selectFrom('audit_entries as e')
      .select(['e.id', 'e.seq', 'e.sealNo'])
      .where(inChain(organizationOfChain(chain), 'e'))
      .where(({ eb, or }) => or([eb('e.seq', 'is not', null), eb('e.sealNo', 'is not', null)]))
      .where(({ exists, not, selectFrom }) =>
        not(
          exists(
            selectFrom('audit_seals as s')
              .select(sql.lit(1).as('one'))
              .where('s.chain', '=', chain)
              .whereRef('s.sealNo', '=', 'e.sealNo')
              .where('s.purgedAt', 'is', null)
              .where(({ between, ref }) => between('e.seq', ref('s.firstSeq'), ref('s.lastSeq'))),
          ),
        ),
      )
      .orderBy('e.seq')
      .orderBy('e.id')
      .limit(limit),
  );
}
