import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { ScoreState } from './evaluation-score.entity.ts';

/** The score of one evaluator, as it is read. */
export interface ScoreRow {
  readonly key: string;
  readonly state: ScoreState;
  readonly score: number | null;
  readonly passed: boolean | null;
  readonly reason: string | null;
  readonly errorCode: string | null;
  readonly details: Readonly<Record<string, unknown>>;
}

/** One result with its scores, as it is shown. */
export type ResultRow = Awaited<ReturnType<typeof resultsBehind>>[number];

/** Characters of an output that a result shows. */
const maxOutput = 4_000;

const scores = sql<
  ScoreRow[]
>`coalesce((select jsonb_agg(jsonb_build_object('key', s.evaluator_key, 'state', s.state, 'score', s.score, 'passed', s.passed,
  'reason', s.reason, 'errorCode', s.error_code, 'details', s.details) order by s.evaluator_key) from evaluation_scores s where s.result_id = r.id), '[]')`;

function selectResults() {
  return query
    .selectFrom('evaluation_results as r')
    .innerJoin('evaluation_items as i', 'i.id', 'r.itemId')
    .leftJoin('runs as u', (join) => join.onRef('u.id', '=', 'r.runId').on('u.deletedAt', 'is', null))
    .select(['i.itemKey', 'i.position', 'r.repetition', 'r.runId', 'r.status', 'r.score', 'r.reason', 'i.tags', 'r.latencyMs', 'r.cost'])
    .select(['r.tokens', 'r.turns', 'r.finishedAt', scores.as('scores')])
    .select(
      sql<string | null>`left(coalesce(u.output ->> 'text', (nullif(u.output -> 'json', 'null'))::text), ${sql.lit(maxOutput)})`.as(
        'output',
      ),
    );
}

/** Errors, then failed, then passed, then the rest. */
const rankOf = (status: string) => sql<number | null>`array_position(array['error', 'failed', 'passed'], ${sql.ref(status)})`;

const firstOfAll = prepared(({ evaluationRunId, limit }: ParametersOf<{ readonly evaluationRunId: string; readonly limit: number }>) => {
  const first = query
    .selectFrom('evaluation_results as f')
    .innerJoin('evaluation_items as g', 'g.id', 'f.itemId')
    .where('f.evaluationRunId', '=', evaluationRunId)
    .select('f.id')
    .orderBy(rankOf('f.status'))
    .orderBy('g.position')
    .orderBy('f.repetition')
    .limit(limit);
  return selectResults()
    .where('r.id', '=', sql<string>`any (array${first})`)
    .orderBy(rankOf('r.status'))
    .orderBy('i.position')
    .orderBy('r.repetition');
});

/**
 * Returns the first results of an evaluation that the caller has been shown: errors, then failed, then passed, then the rest, each by position and repetition.
 */
export function firstResults(tx: Pick<TenantTransaction, 'em'>, evaluationRunId: string, limit: number): Promise<ResultRow[]> {
  return rows(tx.em, firstOfAll({ evaluationRunId, limit }));
}

interface Stretch {
  readonly evaluationRunId: string;
  readonly position: number;
  readonly repetition: number;
  readonly limit: number;
}

const resultsAfter = prepared(({ evaluationRunId, position, repetition, limit }: ParametersOf<Stretch>) =>
  selectResults()
    .where('r.evaluationRunId', '=', evaluationRunId)
    .where(({ eb, refTuple, tuple }) => eb(refTuple('i.position', 'r.repetition'), '>', tuple(position, repetition)))
    .orderBy('i.position')
    .orderBy('r.repetition')
    .limit(limit),
);

/** Returns a page of all results of an evaluation by position and repetition, after the given one. */
export function resultsBehind(
  tx: Pick<TenantTransaction, 'em'>,
  evaluationRunId: string,
  { after, limit }: { readonly after: { readonly position: number; readonly repetition: number }; readonly limit: number },
) {
  return rows(tx.em, resultsAfter({ evaluationRunId, position: after.position, repetition: after.repetition, limit }));
}
