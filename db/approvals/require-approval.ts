import type { CallApproval } from '../../workflows/contracts/runs/approvals.ts';
import { newId } from '../ids.ts';
import { stepKindOf, type CallState } from '../runs/calls/call-state.ts';
import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** The approval that a call needs. */
export interface RequiredApproval {
  readonly callId: string;
  readonly gate: CallApproval;
  /** The call is critical from now on. A call that was critical stays critical. */
  readonly isCritical: boolean;
  /** Only while this try holds the call; null: whichever try holds it. */
  readonly attempt: number | null;
}

/** Makes a ready or executing call await approval. Returns false when it is neither, or when another try holds it. */
export async function markForApproval(tx: TenantTransaction, { callId, gate, isCritical, attempt }: RequiredApproval): Promise<boolean> {
  const gated = await rows(
    tx.em,
    `update tool_calls set state = 'recorded', gate = ?, critical = critical or ?
      where id = ? and state in ('ready', 'executing') and (?::int is null or (attempt = ?::int and state = 'executing')) returning id`,
    [gate, isCritical, callId, attempt, attempt],
  );
  return gated.length > 0;
}

/** Marks calls as waiting for the answers to their questions. */
export async function setGated(tx: TenantTransaction, callIds: readonly string[]): Promise<void> {
  await rows(tx.em, `update tool_calls set state = 'gated' where id = any (?::uuid[])`, [callIds]);
}

/** Makes a call ready to execute, with these arguments. */
export async function setReady(
  tx: TenantTransaction,
  callId: string,
  { args, argsHash }: { readonly args: Readonly<Record<string, unknown>>; readonly argsHash: string },
): Promise<void> {
  await rows(tx.em, `update tool_calls set state = 'ready', args = ?::jsonb, args_hash = ? where id = ?`, [
    JSON.stringify(args),
    argsHash,
    callId,
  ]);
}

/** Starts the time that a client has for its call, and opens the call's step. Returns the end of that time, or null when the call does not exist. */
export async function openForClient(tx: TenantTransaction, call: Pick<CallState, 'id' | 'kind'>): Promise<string | null> {
  const opened = await row<{ deadline_at: string }>(
    tx.em,
    `with opened as (
       update tool_calls set deadline_at = clock_timestamp() + make_interval(secs => timeout_s) where id = ?
         returning id, organization_id, workspace_id, run_id, step, slug, attempt, message_id, args, deadline_at
     ), step as (
       insert into run_steps (id, organization_id, workspace_id, run_id, step, kind, name, status, attempt, tool_call_id, message_id, args, retries, started_at, created_at)
       select ?, o.organization_id, o.workspace_id, o.run_id, o.step, ?, o.slug, 'running', greatest(1, o.attempt), o.id, o.message_id, o.args, '[]', clock_timestamp(), now()
         from opened o on conflict (run_id, step, tool_call_id) do nothing
     ) select deadline_at from opened`,
    [call.id, newId(), stepKindOf(call.kind)],
  );
  return opened?.deadline_at ?? null;
}
