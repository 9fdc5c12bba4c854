import { money } from '../../db/money.ts';
import type { ResultRow } from '../../db/evaluations/results.ts';
import { iso } from '../../db/sql.ts';
import type { EvaluatorType, StoredEvaluator } from '../../workflows/contracts/evaluations.ts';

/** A result as it is shown and exported. */
export function toResultView(row: ResultRow, evaluators: readonly StoredEvaluator[]) {
  const types = new Map<string, EvaluatorType>(evaluators.map(({ key, type }) => [key, type]));
  return {
    item_id: row.itemKey,
    repetition: row.repetition,
    run_id: row.runId,
    status: row.status,
    score: row.score === null ? null : Number(row.score),
    scores: row.scores.flatMap((score) => {
      const type = types.get(score.key);
      if (type === undefined) return [];
      const error = score.errorCode === null ? null : { code: score.errorCode, message: score.reason ?? score.errorCode };
      const { key, state, passed, details } = score;
      return [{ key, type, state, score: score.score, passed, reason: error === null ? score.reason : null, error, details }];
    }),
    reason: row.reason,
    output: row.output,
    tags: [...row.tags],
    latency_ms: row.latencyMs,
    cost: row.cost === null ? null : money(row.cost),
    tokens: row.tokens,
    turns: row.turns,
    finished_at: iso(row.finishedAt),
  };
}
