import type { RetryCause } from '../../streams/frame.schema.ts';
import { newId } from '../../ids.ts';
import { row, rows, queueStatement } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { retriesWithLost } from './retries.ts';
import { readPlannedCalls, type StoredCall } from '../calls/planned-calls.ts';
import type { RunState } from '../run-state.ts';
import type { StepFault, StepRetry } from '../run-types.ts';
import type { StopReason } from '../run-frames.ts';

/** A try of a model step that has failed, and how long the next one waits. */
export interface FailedTry {
  readonly runId: string;
  readonly step: number;
  readonly attempt: number;
  readonly cause: RetryCause;
  readonly fault: StepFault;
  readonly delayMs: number;
}

const storedStepSql = `select id, stop_reason from messages where run_id = ? and step = ? and role = 'assistant' and stop_reason is not null`;

/** A step that an earlier try has stored. */
export interface StoredStep {
  readonly kind: 'stored';
  readonly stopReason: StopReason;
  readonly calls: readonly StoredCall[];
}

/** The answer that an earlier try has stored; null: there is none. */
export async function readStoredStep(tx: TenantTransaction, runId: string, step: number): Promise<StoredStep | null> {
  const message = await row<{ id: string; stop_reason: StopReason }>(tx.em, storedStepSql, [runId, step]);
  if (!message) return null;
  return { kind: 'stored', stopReason: message.stop_reason, calls: await readPlannedCalls(tx, message.id) };
}

/** The row of a step as its claim has left it. */
export interface ClaimedRow {
  readonly attempt: number;
  readonly retries: StepRetry[];
  readonly last_error: string | null;
  readonly in_flight: number | null;
}

/** Null where an earlier try has stored the step, or holds it and is not `over`. One with an entry in `retries` has said its end. */
export function claimStep(
  tx: TenantTransaction,
  run: RunState,
  { step, over }: { readonly step: number; readonly over: number | null },
): Promise<ClaimedRow | null> {
  return row<ClaimedRow>(
    tx.em,
    `insert into run_steps as s (id, organization_id, workspace_id, run_id, step, kind, name, status, attempt, retries, started_at, created_at)
     select ?, ?, ?, ?, ?, 'model', ?, 'running', 1, '[]', clock_timestamp(), now() where not exists (${storedStepSql})
     on conflict (run_id, step, tool_call_id) do update
       set attempt = s.attempt + 1, status = 'running', error = null, first_token_at = null, finished_at = null, duration_ms = null, started_at = clock_timestamp(),
           retries = ${retriesWithLost}
       where s.status <> 'running' or jsonb_array_length(s.retries) >= s.attempt or s.attempt = ?::int
     returning attempt, retries, old.error ->> 'message' as last_error, (s.in_flight ->> 'attempt')::int as in_flight`,
    [newId(), run.organization_id, run.workspace_id, run.id, step, run.manifest?.models[0] ?? 'model', run.id, step, over],
  );
}

/** The try that holds a step. */
export async function holderOf(tx: TenantTransaction, runId: string, step: number): Promise<number> {
  const held = await row<{ attempt: number }>(
    tx.em,
    'select attempt from run_steps where run_id = ? and step = ? and tool_call_id is null',
    [runId, step],
  );
  if (!held) throw new Error('the claim of a step gave no row');
  return held.attempt;
}

/** Writes why a try of a step failed. False: a later try has the step. */
export async function writeFailedTry(
  tx: TenantTransaction,
  { runId, step, attempt, fault }: Pick<FailedTry, 'runId' | 'step' | 'attempt' | 'fault'>,
  retry: StepRetry,
): Promise<boolean> {
  const updated = await rows(
    tx.em,
    `update run_steps set status = 'failed', error = ?::jsonb, retries = retries || ?::jsonb, finished_at = clock_timestamp(),
            duration_ms = extract(epoch from clock_timestamp() - started_at) * 1000
      where run_id = ? and step = ? and tool_call_id is null and attempt = ? and status = 'running' returning id`,
    [JSON.stringify(fault), JSON.stringify([retry]), runId, step, attempt],
  );
  return updated.length === 1;
}

/** How a try is entered that left no word. */
export interface LostRetry {
  readonly attempt: number;
  readonly cause: 'worker_lost';
  readonly error_code: null;
}

/** Corrects the entry of a try among those of its step. Goes with the next statement; nothing where there is none. */
export async function correctRetry(
  tx: TenantTransaction,
  { runId, step, toolCallId }: { readonly runId: string; readonly step: number; readonly toolCallId: string | null },
  { from, to }: { readonly from: LostRetry; readonly to: { readonly error_code: string } },
): Promise<void> {
  const entry = JSON.stringify(from);
  await queueStatement(
    tx.em,
    `update run_steps s set retries = (
         select jsonb_agg(case when e.entry @> ?::jsonb then e.entry || ?::jsonb else e.entry end order by e.n)
           from jsonb_array_elements(s.retries) with ordinality as e(entry, n))
      where s.run_id = ? and s.step = ? and s.tool_call_id is not distinct from ?::uuid and s.retries @> ?::jsonb`,
    [entry, JSON.stringify(to), runId, step, toolCallId, `[${entry}]`],
  );
}

/** The next try of a step has the number of this one again. False: a later try has the step. One that was taken back is so again. */
export async function takeBackClaim(
  tx: TenantTransaction,
  claim: { readonly runId: string; readonly step: number; readonly attempt: number },
): Promise<boolean> {
  const taken = await row(
    tx.em,
    `with taken as (
       update run_steps set attempt = attempt - 1 where run_id = ? and step = ? and tool_call_id is null and attempt = ? and status = 'running' returning id
     )
     select from run_steps s where s.run_id = ? and s.step = ? and s.tool_call_id is null and (s.attempt = ?::int - 1 or exists (select from taken))`,
    [claim.runId, claim.step, claim.attempt, claim.runId, claim.step, claim.attempt],
  );
  return taken !== null;
}
