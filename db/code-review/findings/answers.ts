import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** A stored result of one stage of a run. */
export interface StoredAnswer {
  readonly stage: string;
  readonly ordinal: number;
  readonly answer: unknown;
}

/** Returns the result of a stage of a run, or null when there is none yet. */
export async function readAnswer(
  tx: Pick<TenantTransaction, 'em'>,
  runId: string,
  { stage, ordinal }: Omit<StoredAnswer, 'answer'>,
): Promise<unknown> {
  const found = await row<{ answer: unknown }>(tx.em, 'select answer from review_answers where run_id = ? and stage = ? and ordinal = ?', [
    runId,
    stage,
    ordinal,
  ]);
  return found?.answer ?? null;
}

/** Returns the results of some stages of a run, by stage and ordinal. */
export function readAnswers(tx: Pick<TenantTransaction, 'em'>, runId: string, stages: readonly string[]): Promise<StoredAnswer[]> {
  return rows(tx.em, 'select stage, ordinal, answer from review_answers where run_id = ? and stage = any (?) order by stage, ordinal', [
    runId,
    [...stages],
  ]);
}
