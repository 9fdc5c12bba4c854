import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { query } from '../query.ts';
import { row, rows } from '../sql.ts';

/** The newest seal of a chain. `mac` is hexadecimal; `entries` counts those of the chain up to it. */
export type ChainHead = Awaited<ReturnType<typeof auditHeads>>[number];

/** A seal that was the newest of its chain, as recorded outside the database. */
export interface AnchoredSeal {
  readonly at: string;
  readonly chain: string;
  readonly seal_no: number;
  readonly mac: string;
}

/** Returns the heads of all chains, with one index look-up for each. Sweeper's pool. */
export function auditHeads(em: SqlEntityManager) {
  return rows(
    em,
    query
      .withRecursive('chains', (of) =>
        of
          .selectFrom((from) => from.selectFrom('audit_seals').select('chain').orderBy('chain').limit(sql.lit(1)).as('first'))
          .select(({ ref }) => ref('first.chain').$castTo<string | null>().as('chain'))
          .unionAll(
            of
              .selectFrom('chains as c')
              .where('c.chain', 'is not', null)
              .select(({ selectFrom }) =>
                selectFrom('audit_seals as s')
                  .whereRef('s.chain', '>', 'c.chain')
                  .select('s.chain')
                  .orderBy('s.chain')
                  .limit(sql.lit(1))
                  .as('chain'),
              ),
          ),
      )
      .selectFrom('chains as c')
      .innerJoinLateral(
        (from) =>
          from
            .selectFrom('audit_seals as a')
            .whereRef('a.chain', '=', 'c.chain')
            .select(['a.chain', 'a.sealNo', 'a.mac', 'a.lastSeq'])
            .orderBy('a.sealNo', 'desc')
            .limit(sql.lit(1))
            .as('s'),
        (join) => join.onTrue(),
      )
      .where('c.chain', '~', '^(platform|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$')
      .select(['s.chain', 's.sealNo', sql<string>`encode(s.mac, 'hex')`.as('mac'), 's.lastSeq as entries'])
      .orderBy('c.chain'),
  );
}

/** Serializes writes to the anchor file across processes, until the end of the transaction. */
export async function lockAnchor(em: SqlEntityManager): Promise<void> {
  await row(em, query.selectNoFrom(sql`pg_advisory_xact_lock(hashtextextended('audit anchor', 0))`.as('locked')));
}

/** An anchored seal that differs from what was anchored. */
export type Unlike = Awaited<ReturnType<typeof unlike>>[number];

/** Returns the number of a chain's newest seal, or null when it has none. */
export async function newestSealNo(em: SqlEntityManager, chain: string): Promise<number | null> {
  const head = await row(
    em,
    query
      .selectFrom('audit_seals')
      .where('chain', '=', chain)
      .select(({ fn }) => fn.max<number | null>('sealNo').as('sealNo')),
  );
  return head?.sealNo ?? null;
}

/** Returns those of the anchored seals that are missing or differ now. */
export function unlike(em: SqlEntityManager, seals: readonly AnchoredSeal[]) {
  const of = <K extends keyof AnchoredSeal>(name: K) => seals.map((seal) => seal[name]);
  const anchored = sql<{ at: string; chain: string; sealNo: number; mac: string }>`unnest(${of('at')}::text[], ${of('chain')}::text[],
    ${of('seal_no')}::bigint[], ${of('mac')}::text[])`;
  return rows(
    em,
    query
      .selectFrom(anchored.as<'a'>(sql`a (at, chain, seal_no, mac)`))
      .leftJoin('audit_seals as s', (join) => join.onRef('s.chain', '=', 'a.chain').onRef('s.sealNo', '=', 'a.sealNo'))
      .where(sql<boolean>`s.mac is distinct from decode(a.mac, 'hex')`)
      .select(['a.at', 'a.chain', 'a.sealNo', 'a.mac'])
      .select(({ eb }) => eb('s.mac', 'is', null).as('isMissing')),
  );
}
