import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import type { Scoped } from '../../scope.ts';
import { rows } from '../../sql.ts';

type OfBase = ParametersOf<{ readonly kbId: string }>;

const total = sql<number>`count(*)::int`;
const counted = (what: string) => sql<string>`${sql.lit(what)}`.as('what');

/** Three groupings in one scan: each row has one of the three columns; the others are null. */
const liveItems = prepared(({ kbId }: OfBase) =>
  query
    .selectFrom('knowledge_live_items as i')
    .where('i.kbId', '=', kbId)
    .groupBy(sql`grouping sets ((i.kind), (i.origin), (i.index_state))`)
    .select([
      sql<string | null>`i.kind`.as('kind'),
      sql<string | null>`i.origin`.as('origin'),
      sql<string | null>`i.index_state`.as('indexState'),
      total.as('total'),
    ]),
);

const others = prepared(({ kbId }: OfBase) =>
  query
    .selectFrom('knowledge_items as i')
    .where('i.kbId', '=', kbId)
    .where('i.deletedAt', 'is not', null)
    .where('i.stagedRunId', 'is', null)
    .select([counted('deleted'), sql<string>`''`.as('name'), total.as('total')])
    .unionAll(
      query
        .selectFrom('knowledge_sources as s')
        .where('s.kbId', '=', kbId)
        .where('s.deletedAt', 'is', null)
        .groupBy('s.state')
        .select([counted('source'), sql<string>`s.state`.as('name'), total.as('total')]),
    )
    .unionAll(
      query
        .selectFrom('knowledge_live_items as i')
        // Each item looks up its own vectors; otherwise the planner could join every vector with every chunk of a base that the statistics don't know yet.
        .innerJoinLateral(
          sql`(select from knowledge_chunks c join knowledge_vectors v on v.chunk_id = c.id where c.item_id = i.id offset 0)`.as<'v'>(
            sql`v`,
          ),
          (join) => join.onTrue(),
        )
        .where('i.kbId', '=', kbId)
        .select([counted('vector'), sql<string>`''`.as('name'), total.as('total')]),
    )
    .unionAll(
      // An index is found by its predicate, which names the base. An invalid one is being built, or was left behind by an aborted build.
      query
        .selectFrom(sql<{ indisvalid: boolean }>`pg_index`.as('x'))
        .where(sql<boolean>`x.indrelid = 'knowledge_vectors'::regclass`)
        .where(sql<boolean>`strpos(pg_get_expr(x.indpred, x.indrelid), ${kbId}::text) > 0`)
        .select([
          counted('index'),
          sql<string>`case when x.indisvalid then 'ready' else 'building' end`.as('name'),
          sql<number>`1`.as('total'),
        ]),
    ),
);

/** Counts what a base holds beyond its counters. `what` in `others`: deleted items, sources by state, vectors of live items, its vector index by state. */
export async function countBase(ctx: Pick<Scoped, 'em'>, kbId: string) {
  const [items, rest] = await Promise.all([rows(ctx.em, liveItems({ kbId })), rows(ctx.em, others({ kbId }))]);
  return { items, others: rest };
}
