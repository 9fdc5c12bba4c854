import { followedTime } from '../../db/database-clock.ts';
import type { CallApprovalState, StepWait } from '../../workflows/contracts/runs/agent-run.ts';
import { budgetQuestion, isBudgetFree, type BudgetWait } from '../../db/billing/budgets/budget-wait.ts';
import { identityOf, type RunState } from '../../db/runs/run-state.ts';
import { settleStatus, type LockedRuns } from '../runs/waiting.ts';
import { stateBatch, type FrameBatch } from '../../db/streams/append.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { requestedFrame, resolvedFrame } from '../../db/approvals/approval-frames.ts';
import type { ApprovalRow } from '../../db/approvals/approval-view.ts';
import { expireQuestions } from '../../db/approvals/expire-questions.ts';
import { leftMs, nothingOpen, isEvaluation } from '../../db/approvals/gate-state.ts';
import type { MovedGates } from './move-gates.ts';
import { insertQuestions } from '../../db/approvals/questions.ts';
import { withdrawQuestion } from '../../db/approvals/withdraw-question.ts';
import { lastQuestion } from '../../db/approvals/question-rows.ts';

export interface RunWait {
  readonly step: number;
  readonly wait: StepWait;
  /** Whether the wait begins now; otherwise it is only checked. */
  readonly opens: boolean;
}

/** Opens a wait of the run itself, or checks whether it is over. The run and its ancestors are locked. May be repeated. */
export async function moveRunWait(tx: TenantTransaction, locked: LockedRuns, { step, wait, opens }: RunWait): Promise<MovedGates> {
  const { run } = locked;
  if (run.status !== 'running' && run.status !== 'waiting') return nothingOpen;
  // A timer needs no person: it ends by itself, in an evaluation too.
  if (wait.on === 'timer') return waitForTimer(tx, locked, new Date(wait.untilMs));
  if (opens && (await isEvaluation(tx, run))) return { ...nothingOpen, cancels: run.root_run_id };
  return waitForBudget(tx, locked, { step, wait, opens });
}

/** A run never waits past its own deadline. */
async function waitForTimer(tx: TenantTransaction, locked: LockedRuns, asked: Date): Promise<CallApprovalState> {
  const { run } = locked;
  const end = run.hard_deadline_at === null ? asked : new Date(run.hard_deadline_at);
  const until = asked < end ? asked : end;
  const isOver = until <= followedTime(tx.em);
  await settleStatus(tx, locked, { timer: { runId: run.id, until: isOver ? null : until } });
  return isOver ? nothingOpen : { ready: [], open: 1, nextMs: leftMs(tx, until.getTime()) };
}

interface BudgetCheck {
  readonly step: number;
  readonly wait: BudgetWait;
  readonly opens: boolean;
}

/** An admin may allow the step's calls, or end the run; the wait also ends once the budget has room again. */
async function waitForBudget(tx: TenantTransaction, locked: LockedRuns, check: BudgetCheck): Promise<CallApprovalState> {
  const { run } = locked;
  const lead: FrameBatch[] = [];
  await expireQuestions(tx, run, lead);
  const last = await lastQuestion(tx, run, check.step);
  const isOpen = last?.status === 'pending';
  if (!isOpen && !(check.opens && (last === null || last.status === 'cancelled'))) {
    await settleStatus(tx, locked, { lead });
    return { ...nothingOpen, ...endOf(last) };
  }

  const { question, periodEndsAt } = isOpen ? await checkAgain(tx, run, { last, check, lead }) : await ask(tx, run, { check, lead });
  await settleStatus(tx, locked, { lead });
  if (question === null) return nothingOpen;
  const expires = new Date(question.expiresAt).getTime();
  return { ready: [], open: 1, nextMs: leftMs(tx, periodEndsAt === null ? expires : Math.min(expires, periodEndsAt.getTime())) };
}

interface OpenQuestion {
  /** Null: the question is no longer needed. */
  readonly question: ApprovalRow | null;
  readonly periodEndsAt: Date | null;
}

async function ask(
  tx: TenantTransaction,
  run: RunState,
  { check, lead }: { readonly check: BudgetCheck; readonly lead: FrameBatch[] },
): Promise<OpenQuestion> {
  const { prompt, args, periodEndsAt } = await budgetQuestion(tx, run, check.step, check.wait);
  const [question = null] = await insertQuestions(tx, run, [
    { call: null, reason: 'budget', prompt, args, responseSchema: null, decisions: ['approve', 'reject'], critical: false, floor: 'admin' },
  ]);
  if (question) lead.push(stateBatch(identityOf(run), [requestedFrame(question)]));
  return { question, periodEndsAt };
}

/** The budget may have been changed, or a new period may have begun. */
async function checkAgain(
  tx: TenantTransaction,
  run: RunState,
  { last, check, lead }: { readonly last: ApprovalRow; readonly check: BudgetCheck; readonly lead: FrameBatch[] },
): Promise<OpenQuestion> {
  const { isFree, periodEndsAt } = await isBudgetFree(tx, run, check.wait);
  if (!isFree) return { question: last, periodEndsAt };
  const withdrawn = await withdrawQuestion(tx, { id: last.id });
  if (withdrawn) lead.push(stateBatch(identityOf(run), [resolvedFrame(withdrawn)]));
  return { question: null, periodEndsAt: null };
}

function endOf(last: ApprovalRow | null): Pick<CallApprovalState, 'ends'> {
  if (last?.status === 'rejected') return { ends: 'budget_exceeded' };
  if (last?.status === 'expired') return { ends: last.onExpiry === 'fail' ? 'approval_expired' : 'budget_exceeded' };
  return {};
}
