import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { ResultStatus } from './evaluation-result.entity.ts';

/** What one result adds to the numbers of its evaluation. */
export interface ResultFacts {
  readonly result_id: string;
  readonly item_key: string;
  readonly content_sha256: string;
  readonly position: number;
  readonly repetition: number;
  readonly cluster: string | null;
  readonly tags: readonly string[];
  readonly status: ResultStatus;
  readonly score: number | null;
  readonly latency_ms: number | null;
  readonly cost: string | null;
  readonly tokens: { readonly input: number; readonly output: number } | null;
  /** By evaluator: its score (null: error or skipped), whether it passed, and its state. */
  readonly scores: Readonly<Record<string, readonly [score: number | null, passed: boolean | null, state: 'done' | 'error' | 'skipped']>>;
}

/** Returns a page of the facts of an evaluation by position and repetition, after the given one. */
export function readFacts(
  tx: Pick<TenantTransaction, 'em'>,
  evaluationRunId: string,
  { after, limit }: { readonly after: { readonly position: number; readonly repetition: number }; readonly limit: number },
): Promise<ResultFacts[]> {
  return rows<ResultFacts>(
    tx.em,
    `select r.id as result_id, i.item_key, i.content_sha256, i.position, r.repetition, i.cluster, i.tags, r.status, r.score::float8 as score, r.latency_ms, r.cost::text as cost, r.tokens,
            coalesce((select jsonb_object_agg(s.evaluator_key, jsonb_build_array(s.score, s.passed, s.state)) from evaluation_scores s where s.result_id = r.id), '{}') as scores
       from evaluation_results r join evaluation_items i on i.id = r.item_id
      where r.evaluation_run_id = ? and (i.position, r.repetition) > (?, ?) order by i.position, r.repetition limit ?`,
    [evaluationRunId, after.position, after.repetition, limit],
  );
}

/** Returns the cost of an evaluation's judges and embeddings according to the ledger. */
export async function readJudgeCost(
  tx: Pick<TenantTransaction, 'em'>,
  evaluation: { readonly id: string; readonly workspaceId: string },
): Promise<string> {
  const found = await row<{ cost: string }>(
    tx.em,
    `select coalesce(sum(cost), 0)::text as cost from usage_entries where workspace_id = ? and source_kind = 'evaluation' and source_id = ?`,
    [evaluation.workspaceId, evaluation.id],
  );
  return found?.cost ?? '0';
}
