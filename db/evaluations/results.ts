import type { TenantTransaction } from '../tenant-transaction.ts';
import { rows } from '../sql.ts';
import type { ResultStatus } from './evaluation-result.entity.ts';
import type { ScoreState } from './evaluation-score.entity.ts';

/** The score of one evaluator, as it is read. */
export interface ScoreRow {
  readonly key: string;
  readonly state: ScoreState;
  readonly score: number | null;
  readonly passed: boolean | null;
  readonly reason: string | null;
  readonly error_code: string | null;
  readonly details: Readonly<Record<string, unknown>>;
}

/** One result with its scores, as it is shown. */
export interface ResultRow {
  readonly item_key: string;
  readonly position: number;
  readonly repetition: number;
  readonly run_id: string | null;
  readonly status: ResultStatus;
  readonly score: string | null;
  readonly scores: readonly ScoreRow[];
  readonly reason: string | null;
  readonly output: string | null;
  readonly tags: readonly string[];
  readonly latency_ms: number | null;
  readonly cost: string | null;
  readonly tokens: { readonly input: number; readonly output: number } | null;
  readonly turns: number | null;
  readonly finished_at: string | null;
}

/** Characters of an output that a result shows. */
const maxOutput = 4_000;

const columns = `i.item_key, i.position, r.repetition, r.run_id, r.status, r.score::text as score, r.reason, i.tags, r.latency_ms, r.cost::text as cost, r.tokens, r.turns,
  r.finished_at,
  left(coalesce(u.output ->> 'text', (nullif(u.output -> 'json', 'null'))::text), ${maxOutput}) as output,
  coalesce((select jsonb_agg(jsonb_build_object('key', s.evaluator_key, 'state', s.state, 'score', s.score, 'passed', s.passed, 'reason', s.reason,
              'error_code', s.error_code, 'details', s.details) order by s.evaluator_key)
              from evaluation_scores s where s.result_id = r.id), '[]') as scores`;
const from = `evaluation_results r join evaluation_items i on i.id = r.item_id left join runs u on u.id = r.run_id and u.deleted_at is null`;

/**
 * Returns the first results of an evaluation that the caller has been shown: errors, then failed, then passed, then the rest, each by position and repetition.
 */
export function firstResults(tx: Pick<TenantTransaction, 'em'>, evaluationRunId: string, limit: number): Promise<ResultRow[]> {
  return rows<ResultRow>(
    tx.em,
    `select ${columns} from ${from} where r.id = any (array(
       select f.id from evaluation_results f join evaluation_items g on g.id = f.item_id where f.evaluation_run_id = ?
        order by array_position(array['error', 'failed', 'passed'], f.status), g.position, f.repetition limit ?))
      order by array_position(array['error', 'failed', 'passed'], r.status), i.position, r.repetition`,
    [evaluationRunId, limit],
  );
}

/** Returns a page of all results of an evaluation by position and repetition, after the given one. */
export function resultsBehind(
  tx: Pick<TenantTransaction, 'em'>,
  evaluationRunId: string,
  { after, limit }: { readonly after: { readonly position: number; readonly repetition: number }; readonly limit: number },
): Promise<ResultRow[]> {
  return rows<ResultRow>(
    tx.em,
    `select ${columns} from ${from} where r.evaluation_run_id = ? and (i.position, r.repetition) > (?, ?) order by i.position, r.repetition limit ?`,
    [evaluationRunId, after.position, after.repetition, limit],
  );
}
