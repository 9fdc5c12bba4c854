import { newId } from '../../ids.ts';
import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { StoredAnswer } from './answers.ts';

/** Stores the result of a stage; the first stored result stays. Returns the stored result. */
export async function insertAnswer(tx: TenantTransaction, runId: string, { stage, ordinal, answer }: StoredAnswer): Promise<unknown> {
  const kept = await row<{ answer: unknown }>(
    tx.em,
    `with made as (
       insert into review_answers (id, organization_id, workspace_id, run_id, stage, ordinal, answer, created_at)
       select ?, r.organization_id, r.workspace_id, r.id, ?, ?, ?::jsonb, now() from runs r where r.id = ? and r.deleted_at is null
       on conflict (run_id, stage, ordinal) do nothing returning answer)
     select answer from made union all
     select a.answer from review_answers a where a.run_id = ? and a.stage = ? and a.ordinal = ? limit 1`,
    [newId(), stage, ordinal, JSON.stringify(answer), runId, runId, stage, ordinal],
  );
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
  readonly calls: readonly { readonly stage: string; readonly ordinal: number }[];
  readonly firstStep: number;
}

/** Assigns each of the calls its own step, the existing one if it was planned before. Steps are consecutive from `firstStep`. */
export async function insertSteps(tx: TenantTransaction, runId: string, { calls, firstStep }: CallsToPlan): Promise<PlannedCallRow[]> {
  await row(tx.em, 'select id from runs where id = ? for no key update', [runId]);
  const planned = await rows<{ step: number; answer: { stage: string; ordinal: number } }>(
    tx.em,
    `select ordinal as step, answer from review_answers where run_id = ? and stage = 'step' order by ordinal`,
    [runId],
  );
  let next = Math.max(firstStep, ...planned.map(({ step }) => step + 1));
  const result: PlannedCallRow[] = [];
  for (const { stage, ordinal } of calls) {
    const known = planned.find(({ answer }) => answer.stage === stage && answer.ordinal === ordinal);
    const step = known?.step ?? next++;
    if (known === undefined) await insertAnswer(tx, runId, { stage: 'step', ordinal: step, answer: { stage, ordinal } });
    result.push({ stage, ordinal, step });
  }
  return result;
}

/** Deletes what was stored for a run that has ended. */
export async function dropAnswers(tx: TenantTransaction, runId: string): Promise<void> {
  await rows(tx.em, 'delete from review_answers where run_id = ?', [runId]);
}
