import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { ScoreState } from './evaluation-score.entity.ts';

/** What one result adds to the numbers of its evaluation. */
export type ResultFacts = Awaited<ReturnType<typeof readFacts>>[number];

/** By evaluator: its score (null: error or skipped), whether it passed, and its state. */
type ScoreFacts = Readonly<Record<string, readonly [score: number | null, passed: boolean | null, state: ScoreState]>>;

interface Stretch {
  readonly evaluationRunId: string;
  readonly position: number;
  readonly repetition: number;
  readonly limit: number;
}

const factsAfter = prepared(({ evaluationRunId, position, repetition, limit }: ParametersOf<Stretch>) =>
  query
    .selectFrom('evaluation_results as r')
    .innerJoin('evaluation_items as i', 'i.id', 'r.itemId')
    .where('r.evaluationRunId', '=', evaluationRunId)
    .where(({ eb, refTuple, tuple }) => eb(refTuple('i.position', 'r.repetition'), '>', tuple(position, repetition)))
    .select(['r.id as resultId', 'i.itemKey', 'i.contentSha256', 'i.position', 'r.repetition', 'i.cluster', 'i.tags', 'r.status'])
    .select(['r.latencyMs', 'r.cost', 'r.tokens'])
    .select([
      sql<number | null>`r.score::float8`.as('score'),
      sql<ScoreFacts>`coalesce((select jsonb_object_agg(s.evaluator_key, jsonb_build_array(s.score, s.passed, s.state))
        from evaluation_scores s where s.result_id = r.id), '{}')`.as('scores'),
    ])
    .orderBy('i.position')
    .orderBy('r.repetition')
    .limit(limit),
);

/** Returns a page of the facts of an evaluation by position and repetition, after the given one. */
export function readFacts(
  tx: Pick<TenantTransaction, 'em'>,
  evaluationRunId: string,
  { after, limit }: { readonly after: { readonly position: number; readonly repetition: number }; readonly limit: number },
) {
  return rows(tx.em, factsAfter({ evaluationRunId, position: after.position, repetition: after.repetition, limit }));
}

/** Returns the cost of an evaluation's judges and embeddings according to the ledger. */
export async function readJudgeCost(
  tx: Pick<TenantTransaction, 'em'>,
  evaluation: { readonly id: string; readonly workspaceId: string },
): Promise<string> {
  const found = await row(
    tx.em,
    query
      .selectFrom('usage_entries')
      .where('workspaceId', '=', evaluation.workspaceId)
      .where('sourceKind', '=', 'evaluation')
      .where('sourceId', '=', evaluation.id)
      .select(sql<string>`coalesce(sum(cost), 0)::text`.as('cost')),
  );
  return found?.cost ?? '0';
}
