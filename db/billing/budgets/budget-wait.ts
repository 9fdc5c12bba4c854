import type { StepWait } from '../../../workflows/contracts/runs/agent-run.ts';
import { agentRunSignals } from '../../../workflows/contracts/runs/agent-run.ts';
import { workflowIds } from '../../../workflows/contracts/queues.ts';
import { addOutboxAll } from '../../outbox.ts';
import { newId } from '../../ids.ts';
import { workflowOfRun, type RunAtWork } from '../../knowledge/runs/runs.ts';
import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { capsAbove } from './cap-keys.ts';
import { money } from '../../money.ts';
import { rollWindows } from './windows.ts';

/** The wait of a step until a budget or cap can cover its call. */
export type BudgetWait = Extract<StepWait, { readonly on: 'budget' }>;

interface WaitingRun {
  readonly id: string;
  readonly workspace_id: string;
  readonly lineage: readonly string[];
  readonly evaluation_run_id: string | null;
}

/** A question to an admin. `periodEndsAt`: when the full period ends; null: it never ends (a cap). */
export interface BudgetQuestion {
  readonly prompt: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly periodEndsAt: Date | null;
}

interface WindowRow {
  readonly name: string;
  readonly limit: string;
  readonly spent: string;
  readonly currency: string;
  readonly window_end: string | null;
}

/** Returns the question of a run whose next call no budget or cap can cover. */
export async function budgetQuestion(tx: TenantTransaction, run: WaitingRun, step: number, wait: BudgetWait): Promise<BudgetQuestion> {
  const full = await fullWindows(tx, run, wait);
  const shown = full.find(({ name }) => name === wait.fullAt) ?? full[0];
  const period = shown === undefined ? (wait.fullAt ?? 'budget') : nameOf(shown.name);
  const needed = money(wait.needed ?? '0');
  const args = {
    step,
    period,
    needed,
    ...(shown ? { limit: money(shown.limit), spent: money(shown.spent), currency: shown.currency } : {}),
  };
  const left = shown ? ` (${money(shown.spent)} of ${money(shown.limit)} ${shown.currency} spent)` : '';
  const what = period === 'run' ? 'The most that this run may cost is reached' : `The budget of the ${period} is spent`;
  return {
    prompt: `${what}${left}. The next model call may cost ${needed}. May it be made all the same?`,
    args,
    periodEndsAt: turnOf(full),
  };
}

/**
 * Whether a waiting call could be covered now, because a budget was written or a period has ended. Amounts held by calls in flight do not count; another
 * wait covers them. Ended windows are rolled first; the transaction may have locked runs, but no window.
 */
export async function isBudgetFree(
  tx: TenantTransaction,
  run: WaitingRun,
  wait: BudgetWait,
): Promise<{ readonly isFree: boolean; readonly periodEndsAt: Date | null }> {
  await rollWindows(tx.em, run.workspace_id);
  const full = await fullWindows(tx, run, wait);
  return { isFree: full.length === 0, periodEndsAt: turnOf(full) };
}

/** Whether an admin has approved the calls of this step. */
export async function isStepAllowed(
  tx: TenantTransaction,
  { runId, step }: { readonly runId: string; readonly step: number },
): Promise<boolean> {
  const allowed = await row(
    tx.em,
    `select from approvals where run_id = ? and reason = 'budget' and status = 'approved' and (args ->> 'step')::int = ? limit 1`,
    [runId, step],
  );
  return allowed !== null;
}

/**
 * Wakes the runs of a workspace with an open budget question, and its knowledge work that waits for budget. Every transaction that writes a budget must
 * call it. The waiters check again; a lost signal only costs the time until their next check.
 */
export async function wakeBudgetWaiters(tx: TenantTransaction, workspaceId: string): Promise<number> {
  const waiting = await rows<{ run_id: string }>(
    tx.em,
    `select distinct run_id from approvals where workspace_id = ? and reason = 'budget' and status = 'pending' order by run_id`,
    [workspaceId],
  );
  const ofRuns = waiting.map(({ run_id: runId }) => ({ id: runId, workflowId: workflowIds.run(runId) }));
  // The key is always new, so that a second write wakes them again.
  const occasion = newId();
  const woken = await addOutboxAll(
    tx,
    [...ofRuns, ...(await pausedKnowledgeRuns(tx, workspaceId)), ...(await pendingIndexes(tx, workspaceId))].map(({ id, workflowId }) => ({
      message: { kind: 'workflow.signal', workflowId, signal: agentRunSignals.budgetChanged },
      dedupeKey: `budget:${id}:${occasion}`,
    })),
  );
  return woken.length;
}

/** Returns paused knowledge runs of bases of the workspace, and of bases of its organization, for which one of its workspaces pays. */
async function pausedKnowledgeRuns(tx: TenantTransaction, workspaceId: string): Promise<{ id: string; workflowId: string }[]> {
  const paused = await rows<RunAtWork>(
    tx.em,
    `select r.id, r.kind, r.target_kb_id as "targetKbId", s.id as "sourceId", s.sync_no as "syncNo"
       from knowledge_runs r left join knowledge_sources s on s.id = r.source_id and s.run_id = r.id
      where r.status = 'paused' and (r.workspace_id = ? or (r.workspace_id is null and r.organization_id = (select organization_id from workspaces where id = ?))) order by r.id`,
    [workspaceId, workspaceId],
  );
  return paused.flatMap((run) => {
    const workflowId = workflowOfRun(run);
    return workflowId === null ? [] : [{ id: run.id, workflowId }];
  });
}

/**
 * Returns bases of the workspace or its organization with items that wait for vectors. Nothing records whether they wait for budget; a workflow that is
 * already working just checks once more.
 */
async function pendingIndexes(tx: TenantTransaction, workspaceId: string): Promise<{ id: string; workflowId: string }[]> {
  const bases = await rows<{ id: string }>(
    tx.em,
    `select b.id from knowledge_bases b
      where b.id in (select i.kb_id from knowledge_items i where i.index_state = 'pending' and i.deleted_at is null and i.staged_run_id is null)
        and b.deleted_at is null and b.embedding_dim > 0
        and (b.workspace_id = ? or (b.workspace_id is null and b.organization_id = (select organization_id from workspaces where id = ?))) order by b.id`,
    [workspaceId, workspaceId],
  );
  return bases.map(({ id }) => ({ id, workflowId: workflowIds.indexBase(id) }));
}

/** Returns the open windows above a run whose spending leaves too little for the call. */
function fullWindows(tx: TenantTransaction, run: WaitingRun, { needed = '0' }: BudgetWait): Promise<WindowRow[]> {
  return rows<WindowRow>(
    tx.em,
    `select coalesce(b.cap_key, b.period) as name, b.limit_amount::text as limit, b.spent::text as spent, b.currency, b.window_end
       from budget_windows b
      where b.workspace_id = ? and b.closed_at is null and (b.cap_key is null or b.cap_key = any (?)) and b.is_enforced and b.limit_amount is not null
        and b.spent + ceil(?::numeric * b.fx_rate * 1e9) / 1e9 > b.limit_amount
      order by b.period, b.id`,
    [run.workspace_id, capsAbove(run), needed],
  );
}

/** Returns the kind of a cap from its name; the run says which one it is. */
function nameOf(name: string): string {
  return name.includes(':') ? name.slice(0, name.indexOf(':')) : name;
}

/** Returns when all full windows will have ended; null when one of them is a cap, or when none is full. */
function turnOf(full: readonly WindowRow[]): Date | null {
  const ends = full.map(({ window_end: end }) => (end === null ? null : new Date(end).getTime()));
  const known = ends.filter((end) => end !== null);
  return known.length === 0 || known.length < ends.length ? null : new Date(Math.max(...known));
}
