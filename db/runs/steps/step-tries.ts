import type { RetryCause } from '../../streams/frame.schema.ts';
import { newId } from '../../ids.ts';
import { row, rows, queueStatement } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { retriesWithLost } from './retries.ts';
import { readPlannedCalls, type StoredCall } from '../calls/planned-calls.ts';
import type { RunState } from '../run-state.ts';
import type { StepFault, StepRetry } from '../run-types.ts';
import type { StopReason } from '../run-frames.ts';

/** A failed try of a model step, and how long the next try waits. */
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

/** Returns the answer that an earlier try has stored, or null. */
export async function readStoredStep(tx: TenantTransaction, runId: string, step: number): Promise<StoredStep | null> {
  const message = await row<{ id: string; stop_reason: StopReason }>(tx.em, storedStepSql, [runId, step]);
  if (!message) return null;
  return { kind: 'stored', stopReason: message.stop_reason, calls: await readPlannedCalls(tx, message.id) };
}

/** The row of a step after its claim. */
export interface ClaimedRow {
  readonly attempt: number;
  readonly retries: StepRetry[];
  readonly last_error: string | null;
  readonly in_flight: number | null;
}

/**
 * Claims a step for a new try. Returns null where an earlier try has stored the step, or holds it and is not `over`. A try with an entry in `retries` has
 * reported its outcome.
 */
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

/** Returns the try that holds a step. */
export async function holderOf(tx: TenantTransaction, runId: string, step: number): Promise<number> {
  const held = await row<{ attempt: number }>(
    tx.em,
    'select attempt from run_steps where run_id = ? and step = ? and tool_call_id is null',
    [runId, step],
  );
  if (!held) throw new Error('the claim of a step gave no row');
  return held.attempt;
}

/** Records why a try of a step failed. Returns false when a later try holds the step. */
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

/** The entry of a try that left neither result nor error. */
export interface LostRetry {
  readonly attempt: number;
  readonly cause: 'worker_lost';
  readonly error_code: null;
}

/** Corrects the entry of a try in its step's `retries`. Goes with the next statement; changes nothing where there is no such entry. */
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

/**
 * Takes back a claim, so that the step's next try gets the same number again. Returns false when a later try holds the step. Taking back the same claim
 * twice returns true again.
 */
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
