import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** A stored result of one stage of a run. */
export interface StoredAnswer {
  readonly stage: string;
  readonly ordinal: number;
  readonly answer: unknown;
}

/** Names the result of a stage of a run. */
export interface AnswerKey {
  readonly runId: string;
  readonly stage: string;
  readonly ordinal: number;
}

/** Selects the result of a stage of a run. */
export function selectAnswer({ runId, stage, ordinal }: ParametersOf<AnswerKey>) {
  return query
    .selectFrom('review_answers as a')
    .select('a.answer')
    .where('a.runId', '=', runId)
    .where('a.stage', '=', stage)
    .where('a.ordinal', '=', ordinal);
}

const answerOf = prepared((key: ParametersOf<AnswerKey>) => selectAnswer(key));

/** Returns the result of a stage of a run, or null when there is none yet. */
export async function readAnswer(
  tx: Pick<TenantTransaction, 'em'>,
  runId: string,
  { stage, ordinal }: Omit<StoredAnswer, 'answer'>,
): Promise<unknown> {
  const found = await row(tx.em, answerOf({ runId, stage, ordinal }));
  return found?.answer ?? null;
}

const answersOf = prepared(({ runId, stages }: ParametersOf<{ readonly runId: string; readonly stages: readonly string[] }>) =>
  query
    .selectFrom('review_answers as a')
    .select(['a.stage', 'a.ordinal', 'a.answer'])
    .where('a.runId', '=', runId)
    .where('a.stage', '=', sql<string>`any(${stages}::text[])`)
    .orderBy('a.stage')
    .orderBy('a.ordinal'),
);

/** Returns the results of some stages of a run, by stage and ordinal. */
export function readAnswers(tx: Pick<TenantTransaction, 'em'>, runId: string, stages: readonly string[]): Promise<StoredAnswer[]> {
  return rows(tx.em, answersOf({ runId, stages: [...stages] }));
}
