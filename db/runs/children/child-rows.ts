import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { RunOutput } from '../run-frames.ts';
import type { RunState } from '../run-state.ts';
import type { RunFault } from '../run-types.ts';
import type { CallState } from '../calls/call-state.ts';
import { newId } from '../../ids.ts';
import { isTerminal } from '../../../workflows/contracts/runs/runs.ts';

/** A child run as its parent's call sees it. */
export interface ChildRun extends Pick<
  RunState,
  | 'id'
  | 'organization_id'
  | 'workspace_id'
  | 'agent_id'
  | 'agent_revision_id'
  | 'agent_slug'
  | 'parent_tool_call_id'
  | 'status'
  | 'usage_subtree'
> {
  readonly finish_reason: string | null;
  readonly output: RunOutput | null;
  readonly error: RunFault | null;
}

/** Returns the run of a delegate call, even if it was erased. */
export function readChild(tx: TenantTransaction, childRunId: string): Promise<ChildRun | null> {
  return row<ChildRun>(
    tx.em,
    `select r.id, r.organization_id, r.workspace_id, r.agent_id, r.agent_revision_id, r.agent_slug, r.parent_tool_call_id, r.status, r.usage_subtree, r.finish_reason, r.output, r.error
       from runs r where r.id = ?`,
    [childRunId],
  );
}

/** Records on the step of a delegate call which run executed it and what that run has cost. */
export async function writeChildUsage(
  tx: TenantTransaction,
  call: Pick<CallState, 'id' | 'runId' | 'step'>,
  child: Pick<ChildRun, 'id' | 'usage_subtree'>,
): Promise<void> {
  await rows(tx.em, 'update run_steps set child_run_id = ?, usage = ?::jsonb where run_id = ? and step = ? and tool_call_id = ?', [
    child.id,
    JSON.stringify(child.usage_subtree),
    call.runId,
    call.step,
    call.id,
  ]);
}

/** Inserts a text before the first message of a run. */
export async function prependMessage(tx: TenantTransaction, runId: string, text: string): Promise<void> {
  await rows(tx.em, 'update messages set pos = pos + 1 where run_id = ?', [runId]);
  await rows(
    tx.em,
    `insert into messages (id, organization_id, workspace_id, conversation_id, run_id, turn, pos, step, role, origin, content, tool_call_ids, state, attempt, created_at)
     select ?, r.organization_id, r.workspace_id, r.conversation_id, r.id, coalesce(r.turn_no, 0), 0, null, 'user', 'injected', ?::jsonb, '{}', 'pending', 1, now()
       from runs r where r.id = ?`,
    [newId(), JSON.stringify([{ type: 'text', text }]), runId],
  );
}

/** Returns the number of runs below each run of a tree, ended ones included. */
export async function countDescendants(tx: TenantTransaction, rootRunId: string): Promise<ReadonlyMap<string, number>> {
  const counted = await rows<{ id: string; below: number }>(
    tx.em,
    `select a.id, count(*)::int as below from runs r cross join unnest(r.lineage) as a(id) where r.root_run_id = ? group by a.id`,
    [rootRunId],
  );
  return new Map(counted.map(({ id, below }) => [id, below]));
}

/** Claims a call for the run that executes it, for the given number of seconds. Returns the end of that time, or null when the call does not exist. */
export async function writeChildClaim(
  tx: TenantTransaction,
  callId: string,
  { attempt, childRunId, seconds }: { readonly attempt: number; readonly childRunId: string; readonly seconds: number },
): Promise<string | null> {
  const claimed = await row<{ deadline_at: string }>(
    tx.em,
    `update tool_calls set state = 'executing', attempt = ?, child_run_id = ?, claimed_at = clock_timestamp(), deadline_at = clock_timestamp() + make_interval(secs => ?)
      where id = ? returning deadline_at`,
    [attempt, childRunId, seconds, callId],
  );
  return claimed?.deadline_at ?? null;
}

/** Opens the step of a delegate call for the run that executes it. */
export async function openChildStep(
  tx: TenantTransaction,
  call: CallState,
  { attempt, childRunId }: { readonly attempt: number; readonly childRunId: string },
): Promise<void> {
  await rows(
    tx.em,
    `insert into run_steps as s (id, organization_id, workspace_id, run_id, step, kind, name, status, attempt, tool_call_id, child_run_id, message_id, args, retries, started_at, created_at)
     values (?, ?, ?, ?, ?, 'sub_agent', ?, 'running', ?, ?, ?, ?, ?::jsonb, '[]', clock_timestamp(), now())
     on conflict (run_id, step, tool_call_id) do update set attempt = excluded.attempt, child_run_id = excluded.child_run_id, status = 'running'`,
    [
      newId(),
      call.organizationId,
      call.workspaceId,
      call.runId,
      call.step,
      call.slug,
      attempt,
      call.id,
      childRunId,
      call.messageId,
      JSON.stringify(call.args),
    ],
  );
}

/** The chain of events behind a run that no person requested. */
export interface CauseRow {
  readonly root_event_id: string | null;
  readonly event_depth: number;
  readonly hops: number;
}

/** Returns the cause of a run, or null when the run does not exist. */
export function readCause(tx: TenantTransaction, runId: string): Promise<CauseRow | null> {
  return row<CauseRow>(tx.em, 'select r.root_event_id, r.event_depth, r.hops from runs r where r.id = ?', [runId]);
}

/** Returns the id of a delegate call's run while that run is live, else null. */
export async function readLiveChild(tx: TenantTransaction, toolCallId: string): Promise<string | null> {
  const found = await row<{ id: string; status: Parameters<typeof isTerminal>[0] }>(
    tx.em,
    'select r.id, r.status from tool_calls c join runs r on r.id = c.child_run_id where c.id = ?',
    [toolCallId],
  );
  return found === null || isTerminal(found.status) ? null : found.id;
}
