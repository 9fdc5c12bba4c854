import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { query } from '../query.ts';
import { change, row, rows } from '../sql.ts';

/** A run whose stream has ended, and when. */
export type EndedRun = Awaited<ReturnType<typeof streamsEndedSince>>[number];

/** Returns runs whose stream ended longer ago than the interval `after`, ordered by the time of their end, starting after the run that the mark names. */
export async function streamsEndedSince(
  em: SqlEntityManager,
  { mark, after, limit }: { readonly mark: string; readonly after: string; readonly limit: number },
) {
  const known = await row(
    em,
    query
      .selectFrom('system_marks')
      .select(({ ref }) => ['at', sql<string | null>`${ref('detail')} ->> 'run_id'`.as('runId')])
      .where('name', '=', mark),
  );
  const at = known?.at ?? '-infinity';
  const runId = known?.runId ?? '00000000-0000-0000-0000-000000000000';
  return rows(
    em,
    query
      .selectFrom('run_streams')
      .select(['runId', 'updatedAt'])
      .where('ended', '=', sql.lit(true))
      .where('updatedAt', '<', sql<string>`now() - ${after}::interval`)
      .where(sql<boolean>`(updated_at, run_id) > (${at}::timestamptz, ${runId}::uuid)`)
      .orderBy('updatedAt')
      .orderBy('runId')
      .limit(limit),
  );
}

/** Records how far a walk has progressed. */
export async function recordProgress(em: SqlEntityManager, mark: string, last: EndedRun): Promise<void> {
  await change(
    em,
    query
      .insertInto('system_marks')
      .values({ name: mark, at: last.updatedAt, detail: { run_id: last.runId } })
      .onConflict((conflict) =>
        conflict.column('name').doUpdateSet(({ ref }) => ({ at: ref('excluded.at'), detail: ref('excluded.detail') })),
      ),
  );
}
