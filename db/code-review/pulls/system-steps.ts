import { newId } from '../../ids.ts';
import type { StepFault } from '../../runs/run-types.ts';
import { rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** A step of a run that is neither a model call nor a tool call. */
export interface SystemStep {
  readonly runId: string;
  readonly step: number;
  readonly name: string;
  readonly attempt: number;
}

/** Opens such a step, or reopens it if it was open or has failed. Returns false when the run takes no more steps. */
export async function openSystemStep(tx: TenantTransaction, { runId, step, name, attempt }: SystemStep): Promise<boolean> {
  const opened = await rows(
    tx.em,
    `insert into run_steps as s (id, organization_id, workspace_id, run_id, step, kind, name, status, attempt, retries, started_at, created_at)
     select ?, r.organization_id, r.workspace_id, r.id, ?, 'system', ?, 'running', ?, '[]', clock_timestamp(), now() from runs r
      where r.id = ? and r.status = 'running' and r.deleted_at is null
     on conflict (run_id, step, tool_call_id) do update
       set status = 'running', attempt = greatest(s.attempt, excluded.attempt), error = null, finished_at = null, duration_ms = null
     returning id`,
    [newId(), step, name, attempt, runId],
  );
  return opened.length > 0;
}

/** Closes the step as succeeded or failed; one that the end of its run has closed stays as it is. */
export async function closeSystemStep(
  tx: TenantTransaction,
  { runId, step }: Pick<SystemStep, 'runId' | 'step'>,
  fault: StepFault | null,
): Promise<void> {
  await rows(
    tx.em,
    `with ended as (
       update run_steps set status = ?, error = ?::jsonb, finished_at = clock_timestamp(), duration_ms = extract(epoch from clock_timestamp() - started_at) * 1000
        where run_id = ? and step = ? and tool_call_id is null and status = 'running')
     update runs set steps = greatest(steps, ?::int), updated_at = now() where id = ? and status in ('running', 'waiting')`,
    [fault === null ? 'succeeded' : 'failed', fault === null ? null : JSON.stringify(fault), runId, step, step, runId],
  );
}
