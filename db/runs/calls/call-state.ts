import type { CallApproval } from '../../../workflows/contracts/runs/approvals.ts';
import type { Scope } from '../../../workflows/contracts/access.ts';
import { isTerminal, type RunStatus, type ToolCallState, type ToolKind } from '../../../workflows/contracts/runs/runs.ts';
import { row, rows } from '../../sql.ts';
import type { RunIdentity } from '../../streams/frame-text.ts';
import { isToolOn } from '../../tools/tool-on.sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { Manifest } from '../start/manifest.ts';
import { lostEntries } from '../steps/retries.ts';
import { inactiveSql, pathOf } from '../run-state.ts';
import type { StepRetry, StepFault } from '../run-types.ts';

/** A call's row with data of its run and message, locked until the end of the transaction. */
export interface CallState {
  readonly id: string;
  readonly run_id: string;
  readonly organization_id: string;
  readonly workspace_id: string;
  readonly conversation_id: string;
  readonly root_run_id: string;
  readonly parent_run_id: string | null;
  readonly agent_slug: string;
  readonly run_path: readonly string[];
  readonly turn_no: number | null;
  readonly run_status: RunStatus;
  readonly run_input: { readonly text?: string; readonly json?: unknown };
  readonly subject_kind: string | null;
  readonly subject_id: string | null;
  readonly manifest: Manifest | null;
  readonly step: number;
  readonly pos: number;
  readonly message_id: string;
  readonly message_pos: number;
  readonly tool_id: string | null;
  readonly slug: string;
  readonly kind: ToolKind | null;
  readonly effect: 'read' | 'write';
  readonly is_idempotent: boolean;
  readonly timeout_s: number;
  readonly response_max_chars: number;
  readonly args: Record<string, unknown>;
  readonly args_hash: string;
  readonly state: ToolCallState;
  readonly attempt: number;
  readonly claimed_at: string | null;
  readonly deadline_at: string | null;
  /** The child run that executes the call. */
  readonly child_run_id: string | null;
  /** Why the call must be approved before it is executed. */
  readonly gate: CallApproval | null;
  readonly critical: boolean;
  readonly client_owned: boolean;
  /** What people have approved of the call so far; `critical`: an admin approved it knowing that it is critical. */
  readonly approved: 'nothing' | 'plain' | 'critical';
  /** Tries that ended without a result, as recorded in the call's step. */
  readonly retries: readonly StepRetry[];
  readonly concurrency: 'read' | 'write' | 'exclusive';
  /** `read`: the run may not change anything. */
  readonly max_effect: 'read' | 'write';
  /** How many deployments' hooks the run's cause has passed through. */
  readonly hops: number;
  /** Read live, because switching off a tool takes effect at its next call. Null: the tool has no row, or its row is deleted. */
  readonly live: LiveTool | null;
  /** The run's workspace or organization takes no more work. */
  readonly is_frozen: boolean;
}

/** The tool's row at the time of the call. */
export interface LiveTool {
  readonly scope: Scope;
  readonly effect: 'read' | 'write';
  readonly critical: boolean;
  readonly client_owned: boolean;
  readonly is_active: boolean;
  readonly is_quarantined: boolean;
}

const liveTool = `(select jsonb_build_object('scope', t.scope, 'effect', t.effect, 'critical', t.critical, 'client_owned', t.client_owned, 'is_active', ${isToolOn('t')},
    'is_quarantined', t.quarantined_at is not null) from tools t where t.id = c.tool_id and t.deleted_at is null) as live`;

const approvedSql = `case (select bool_or(a.critical) from approvals a where a.tool_call_id = c.id and a.status in ('approved', 'edited')) when true then 'critical'
    when false then 'plain' else 'nothing' end`;

const callColumns = `c.id, c.run_id, c.organization_id, c.workspace_id, r.conversation_id, r.root_run_id, r.parent_run_id, r.agent_slug, r.path as run_path, r.turn_no, r.status as run_status,
  r.input as run_input, r.subject_kind, r.subject_id, r.manifest, c.step, c.pos, c.message_id, m.pos as message_pos, c.tool_id, c.slug, c.kind, c.effect, c.is_idempotent,
  c.timeout_s, c.response_max_chars, c.args, c.args_hash, c.state, c.attempt, c.claimed_at, c.deadline_at, c.child_run_id, c.gate, c.critical, c.client_owned, ${approvedSql} as approved,
  coalesce((select s.retries from run_steps s where s.run_id = c.run_id and s.step = c.step and s.tool_call_id = c.id), '[]'::jsonb) as retries,
  c.concurrency, r.max_effect, r.hops, ${liveTool},
  ${inactiveSql('c.workspace_id')} as is_frozen`;

/** States of a call without a result. */
export const openStates: readonly ToolCallState[] = ['recorded', 'gated', 'ready', 'executing'];

/** Locks a call; returns null when it does not exist. */
export function lockCall(tx: TenantTransaction, runId: string, toolCallId: string): Promise<CallState | null> {
  return row<CallState>(
    tx.em,
    `select ${callColumns} from tool_calls c join runs r on r.id = c.run_id join messages m on m.id = c.message_id where c.id = ? and c.run_id = ? for no key update of c`,
    [toolCallId, runId],
  );
}

/** Locks calls of the given runs by id; ids that belong to none of these runs are left out. */
export function lockCalls(tx: TenantTransaction, runIds: readonly string[], ids: readonly string[]): Promise<CallState[]> {
  return rows<CallState>(
    tx.em,
    `select ${callColumns} from tool_calls c join runs r on r.id = c.run_id join messages m on m.id = c.message_id
      where c.run_id = any (?::uuid[]) and c.id = any (?::uuid[]) order by c.run_id, c.step, c.pos for no key update of c`,
    [[...runIds], [...ids]],
  );
}

/** Locks the calls of runs that have no result yet; those of each run in the order in which the model asked for them. */
export function lockOpenCalls(tx: TenantTransaction, runIds: readonly string[]): Promise<CallState[]> {
  return rows<CallState>(
    tx.em,
    `select ${callColumns} from tool_calls c join runs r on r.id = c.run_id join messages m on m.id = c.message_id
      where c.run_id = any (?::uuid[]) and c.state = any (?) order by c.run_id, c.step, c.pos for no key update of c`,
    [[...runIds], openStates],
  );
}

export function isOpen(call: CallState): boolean {
  return openStates.includes(call.state) && !isTerminal(call.run_status);
}

/** Whether the call can safely be executed again. */
export function isRepeatable(call: CallState): boolean {
  return call.effect === 'read' || call.is_idempotent;
}

/** Returns the number of tries whose worker died. An open try counts too, since the caller has found it without a result. */
export function lostTries(call: CallState): number {
  return lostEntries(call.retries) + (isHeld(call) ? 1 : 0);
}

/** Whether a try is executing the call and has not reported its outcome. */
export function isHeld(call: CallState): boolean {
  return call.state === 'executing' && call.retries.length < call.attempt;
}

/** Returns the kind of the call's step. */
export function stepKindOf(kind: ToolKind | null): 'tool' | 'sub_agent' {
  return kind === 'delegate' ? 'sub_agent' : 'tool';
}

/** The run identity that the call's frames carry. */
export function identityOfCall(call: CallState): RunIdentity {
  return {
    runId: call.run_id,
    rootRunId: call.root_run_id,
    parentRunId: call.parent_run_id,
    organizationId: call.organization_id,
    workspaceId: call.workspace_id,
    path: pathOf({ path: call.run_path, agent_slug: call.agent_slug }),
  };
}

/** The result of a call that has ended with one. */
export interface StoredResult {
  readonly id: string;
  readonly output: unknown;
  readonly error: StepFault | null;
}

/** Returns the results of calls by id; calls without a result are left out. */
export async function readStoredResults(tx: TenantTransaction, ids: readonly string[]): Promise<Map<string, StoredResult>> {
  const found = await rows<StoredResult>(
    tx.em,
    `select c.id, c.output, c.error from tool_calls c where c.id = any (?::uuid[]) and c.state in ('succeeded', 'failed')`,
    [ids],
  );
  return new Map(found.map((row) => [row.id, row]));
}
