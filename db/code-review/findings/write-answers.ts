import { sql } from 'kysely';
import { now } from '../../expressions.ts';
import { newId } from '../../ids.ts';
import { insertFrom } from '../../insert-from.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { change, row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { selectAnswer, type AnswerKey, type StoredAnswer } from './answers.ts';

/** `answer` is JSON. */
type NewAnswer = AnswerKey & { readonly id: string; readonly answer: string };

const keeping = prepared(({ id, answer, ...key }: ParametersOf<NewAnswer>) =>
  query
    .with('made', () =>
      insertFrom(
        'review_answers',
        query.selectFrom('runs as r').where('r.id', '=', key.runId).where('r.deletedAt', 'is', null),
        ({ ref }) => ({
          id: sql<string>`${id}::uuid`,
          organizationId: ref('r.organizationId'),
          workspaceId: ref('r.workspaceId'),
          runId: ref('r.id'),
          stage: sql<string>`${key.stage}::text`,
          ordinal: sql<number>`${key.ordinal}::int`,
          answer: sql<unknown>`${answer}::jsonb`,
          createdAt: now,
        }),
      )
        .onConflict((conflict) => conflict.columns(['runId', 'stage', 'ordinal']).doNothing())
        .returning('answer'),
    )
    .selectFrom('made')
    .select('made.answer')
    .unionAll(selectAnswer(key))
    .limit(1),
);

/** Stores the result of a stage; the first stored result stays. Returns the stored result. */
export async function insertAnswer(tx: TenantTransaction, runId: string, { stage, ordinal, answer }: StoredAnswer): Promise<unknown> {
  const kept = await row(tx.em, keeping({ id: newId(), runId, stage, ordinal, answer: JSON.stringify(answer) }));
  return kept?.answer ?? answer;
}

/** A model call with the step that it is. */
export interface PlannedCallRow {
  readonly stage: string;
  readonly ordinal: number;
  readonly step: number;
}

/** Calls that need steps, and the first step that is free for calls. */
export interface CallsToPlan {
  readonly calls: readonly PlannedCall[];
  readonly firstStep: number;
}

type PlannedCall = Pick<PlannedCallRow, 'stage' | 'ordinal'>;

const lockedRun = prepared(({ runId }: ParametersOf<{ readonly runId: string }>) =>
  query.selectFrom('runs').select('id').where('id', '=', runId).forNoKeyUpdate(),
);

const plannedCalls = prepared(({ runId }: ParametersOf<{ readonly runId: string }>) =>
  query
    .selectFrom('review_answers as a')
    // Written only by insertSteps.
    .select(({ ref }) => ['a.ordinal as step', ref('a.answer').$castTo<PlannedCall>().as('call')])
    .where('a.runId', '=', runId)
    .where('a.stage', '=', 'step')
    .orderBy('a.ordinal'),
);

/** Assigns each of the calls its own step, the existing one if it was planned before. Steps are consecutive from `firstStep`. */
export async function insertSteps(tx: TenantTransaction, runId: string, { calls, firstStep }: CallsToPlan): Promise<PlannedCallRow[]> {
  await row(tx.em, lockedRun({ runId }));
  const planned = await rows(tx.em, plannedCalls({ runId }));
  let next = Math.max(firstStep, ...planned.map(({ step }) => step + 1));
  const result: PlannedCallRow[] = [];
  for (const { stage, ordinal } of calls) {
    const known = planned.find(({ call }) => call.stage === stage && call.ordinal === ordinal);
    const step = known?.step ?? next++;
    if (known === undefined) await insertAnswer(tx, runId, { stage: 'step', ordinal: step, answer: { stage, ordinal } });
    result.push({ stage, ordinal, step });
  }
  return result;
}

const dropping = prepared(({ runId }: ParametersOf<{ readonly runId: string }>) =>
  query.deleteFrom('review_answers').where('runId', '=', runId),
);

/** Deletes what was stored for a run that has ended. */
export async function dropAnswers(tx: TenantTransaction, runId: string): Promise<void> {
  await change(tx.em, dropping({ runId }));
}
