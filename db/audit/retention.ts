import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { query } from '../query.ts';
import { change, row, rows } from '../sql.ts';
import { chainOf } from './chain.ts';
import { sealColumns, type Seal } from './check-seal.ts';
import { fewestDays } from './proofs.ts';

/** Returns the organizations whose oldest unpurged seal is past its days. */
export async function organizationsPastRetention(em: SqlEntityManager): Promise<string[]> {
  const found = await rows(
    em,
    query
      .selectFrom('organization_settings as s')
      .select('s.organizationId')
      .where(({ eb, selectFrom }) =>
        eb(
          selectFrom('audit_seals as a')
            .select('a.createdAt')
            .where(sql<boolean>`a.chain = s.organization_id::text`)
            .where('a.purgedAt', 'is', null)
            .orderBy('a.sealNo')
            .limit(sql.lit(1)),
          '<',
          sql<string>`now() - make_interval(days => s.audit_retention_days)`,
        ),
      )
      .orderBy('s.organizationId'),
  );
  return found.map(({ organizationId }) => organizationId);
}

/** Deletes the entries of a chain up to and including a number, and marks their seals as purged; returns the number of entries. */
export async function takeSeals(
  em: SqlEntityManager,
  organizationId: string,
  { throughSeal, throughSeq }: { readonly throughSeal: number; readonly throughSeq: number | null },
): Promise<number> {
  const entries = await change(
    em,
    query.deleteFrom('audit_entries').where('organizationId', '=', organizationId).where('seq', '<=', throughSeq),
  );
  await change(
    em,
    query
      .updateTable('audit_seals')
      .set({ purgedAt: sql<string>`now()`, entryMacs: Buffer.of() })
      .where('chain', '=', chainOf(organizationId))
      .where('purgedAt', 'is', null)
      .where('sealNo', '<=', throughSeal),
  );
  return entries;
}

/**
 * Returns how many of the oldest seals of a chain are past their days, at most `maxSeals` and until they hold `maxEntries`, which ones, and the retention in
 * days that applies; null numbers where there are none.
 */
export function dueSeals(
  em: SqlEntityManager,
  organizationId: string,
  { maxSeals, maxEntries }: { readonly maxSeals: number; readonly maxEntries: number },
) {
  const days = sql<number>`greatest(s.audit_retention_days, ${sql.lit(fewestDays)})`;
  return row(
    em,
    query
      .with('oldest', (of) =>
        of
          .selectFrom('audit_seals')
          .select(['sealNo', 'lastSeq', 'createdAt', sql<number>`sum(entries) over (order by seal_no) - entries`.as('before')])
          .where('chain', '=', chainOf(organizationId))
          .where('purgedAt', 'is', null)
          .orderBy('sealNo')
          .limit(maxSeals),
      )
      .with('kept', (of) =>
        of
          .selectFrom(['organization_settings as s', 'oldest as o'])
          .select([days.as('days')])
          .select(({ fn }) =>
            fn
              .min<number | null>('o.sealNo')
              .filterWhere('o.createdAt', '>=', sql<string>`now() - make_interval(days => ${days})`)
              .as('sealNo'),
          )
          .where('s.organizationId', '=', organizationId)
          .groupBy('s.organizationId'),
      )
      .selectFrom(['oldest as o', 'kept as k'])
      .where('o.before', '<', maxEntries)
      .where(({ eb, or, ref }) => or([eb('k.sealNo', 'is', null), eb('o.sealNo', '<', ref('k.sealNo'))]))
      .select(({ fn }) => [
        fn.countAll<number>().as('seals'),
        fn.min<number | null>('o.sealNo').as('fromSeal'),
        fn.max<number | null>('o.sealNo').as('throughSeal'),
        fn.max<number | null>('o.lastSeq').as('throughSeq'),
        fn.max<number | null>('k.days').as('days'),
      ]),
  );
}

/** Returns the seals of a chain from one number through another, in order. */
export function sealsBetween(
  em: SqlEntityManager,
  chain: string,
  { fromSeal, throughSeal }: { readonly fromSeal: number; readonly throughSeal: number },
): Promise<Seal[]> {
  return rows(
    em,
    query
      .selectFrom('audit_seals')
      .select(sealColumns)
      .where('chain', '=', chain)
      .where(({ between }) => between('sealNo', fromSeal, throughSeal))
      .orderBy('sealNo'),
  );
}
