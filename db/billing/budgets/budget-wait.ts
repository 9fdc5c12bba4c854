import { sql, type SqlBool } from 'kysely';
import type { StepWait } from '../../../workflows/contracts/runs/agent-run.ts';
import { agentRunSignals } from '../../../workflows/contracts/runs/agent-run.ts';
import { workflowIds } from '../../../workflows/contracts/queues.ts';
import { addOutboxAll } from '../../outbox.ts';
import { newId } from '../../ids.ts';
import { workflowOfRun } from '../../../workflows/contracts/knowledge/runs.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
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

interface StepOfRun {
  readonly runId: string;
  readonly step: number;
}

const approvedStep = prepared(({ runId, step }: ParametersOf<StepOfRun>) =>
  query
    .selectFrom('approvals')
    .where('runId', '=', runId)
    .where('reason', '=', 'budget')
    .where('status', '=', 'approved')
    .where(({ ref }) => sql<SqlBool>`(${ref('args')} ->> 'step')::int = ${step}`)
    .select('id')
    .limit(1),
);

/** Whether an admin has approved the calls of this step. */
export async function isStepAllowed(tx: TenantTransaction, { runId, step }: StepOfRun): Promise<boolean> {
  return (await row(tx.em, approvedStep({ runId, step }))) !== null;
}

/**
 * Wakes the runs of a workspace with an open budget question, and its knowledge work that waits for budget. Every transaction that writes a budget must
 * call it. The waiters check again; a lost signal only costs the time until their next check.
 */
export async function wakeBudgetWaiters(tx: TenantTransaction, workspaceId: string): Promise<number> {
  const waiting = await rows(
    tx.em,
    query
      .selectFrom('approvals')
      .where('workspaceId', '=', workspaceId)
      .where('reason', '=', 'budget')
      .where('status', '=', sql.lit('pending'))
      .select('runId')
      .distinct()
      .orderBy('runId'),
  );
  const ofRuns = waiting.map(({ runId }) => ({ id: runId, workflowId: workflowIds.run(runId) }));
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

/** Whether a row `alias` is the workspace's, or that of its organization as a whole. */
function isPaidBy(alias: string, workspaceId: string) {
  const [organization, workspace] = [sql.ref(`${alias}.organizationId`), sql.ref(`${alias}.workspaceId`)];
  return sql<SqlBool>`(${workspace} = ${workspaceId} or (${workspace} is null and ${organization} = (select organization_id from workspaces where id = ${workspaceId})))`;
}

/** Returns paused knowledge runs of bases of the workspace, and of bases of its organization, for which one of its workspaces pays. */
async function pausedKnowledgeRuns(tx: TenantTransaction, workspaceId: string): Promise<{ id: string; workflowId: string }[]> {
  const paused = await rows(
    tx.em,
    query
      .selectFrom('knowledge_runs as r')
      .leftJoin('knowledge_sources as s', (join) => join.onRef('s.id', '=', 'r.sourceId').onRef('s.runId', '=', 'r.id'))
      .where('r.status', '=', sql.lit('paused'))
      .where(isPaidBy('r', workspaceId))
      .select(['r.id', 'r.kind', 'r.targetKbId', 's.id as sourceId', 's.syncNo'])
      .orderBy('r.id'),
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
  const bases = await rows(
    tx.em,
    query
      .selectFrom('knowledge_bases as b')
      .where(({ eb, selectFrom }) => {
        const pending = selectFrom('knowledge_items as i')
          .where('i.indexState', '=', sql.lit('pending'))
          .where('i.deletedAt', 'is', null)
          .where('i.stagedRunId', 'is', null)
          .select('i.kbId');
        return eb('b.id', 'in', pending);
      })
      .where('b.deletedAt', 'is', null)
      .where('b.embeddingDim', '>', 0)
      .where(isPaidBy('b', workspaceId))
      .select('b.id')
      .orderBy('b.id'),
  );
  return bases.map(({ id }) => ({ id, workflowId: workflowIds.indexBase(id) }));
}

interface WaitingCall {
  readonly workspaceId: string;
  readonly caps: readonly string[];
  readonly needed: string;
}

const windowsWithoutRoom = prepared(({ workspaceId, caps, needed }: ParametersOf<WaitingCall>) =>
  query
    .selectFrom('budget_windows as b')
    .where('b.workspaceId', '=', workspaceId)
    .where('b.closedAt', 'is', null)
    .where(({ eb, or }) => or([eb('b.capKey', 'is', null), sql<SqlBool>`b.cap_key = any (${caps}::text[])`]))
    .where('b.isEnforced', '=', sql.lit(true))
    .where('b.limitAmount', 'is not', null)
    .where(sql<SqlBool>`b.spent + ceil(${needed}::numeric * b.fx_rate * 1e9) / 1e9 > b.limit_amount`)
    .select(['b.spent', 'b.currency', 'b.windowEnd'])
    .select([sql<string>`coalesce(b.cap_key, b.period)`.as('name'), sql<string>`b.limit_amount`.as('limit')])
    .orderBy('b.period')
    .orderBy('b.id'),
);

type FullWindow = Awaited<ReturnType<typeof fullWindows>>[number];

/** Returns the open windows above a run whose spending leaves too little for the call. */
function fullWindows(tx: TenantTransaction, run: WaitingRun, { needed = '0' }: BudgetWait) {
  return rows(tx.em, windowsWithoutRoom({ workspaceId: run.workspace_id, caps: capsAbove(run), needed }));
}

/** Returns the kind of a cap from its name; the run says which one it is. */
function nameOf(name: string): string {
  return name.includes(':') ? name.slice(0, name.indexOf(':')) : name;
}

/** Returns when all full windows will have ended; null when one of them is a cap, or when none is full. */
function turnOf(full: readonly FullWindow[]): Date | null {
  const ends = full.map(({ windowEnd: end }) => (end === null ? null : new Date(end).getTime()));
  const known = ends.filter((end) => end !== null);
  return known.length === 0 || known.length < ends.length ? null : new Date(Math.max(...known));
}
