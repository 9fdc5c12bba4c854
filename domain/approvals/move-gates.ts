import { followedTime } from '../../db/database-clock.ts';
import type { CallApprovalState } from '../../workflows/contracts/runs/agent-run.ts';
import { lockOpenCalls, type CallState } from '../../db/runs/calls/call-state.ts';
import { readConsent } from '../../db/mcp/consent-of-call.ts';
import { identityOf, type RunState } from '../../db/runs/run-state.ts';
import type { StepError } from '../../db/runs/run-types.ts';
import { settleStatus, type LockedRuns } from '../runs/waiting.ts';
import { stateBatch, type FrameBatch } from '../../db/streams/append.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { resolvedFrame } from '../../db/approvals/approval-frames.ts';
import { askAbout } from './ask.ts';
import { applyAnswer, expireClientCall, openClientCall, readyCall } from './call-answers.ts';
import { expireQuestions } from '../../db/approvals/expire-questions.ts';
import { nothingOpen, readGateState, isEvaluation } from '../../db/approvals/gate-state.ts';
import { withdrawQuestion } from '../../db/approvals/withdraw-question.ts';

/** The state of a step's approvals. `cancels`: the step waits for something that an evaluation never provides, so this root run is to be cancelled. */
export type MovedGates = CallApprovalState & { readonly cancels?: string };

export interface GateMove {
  readonly step: number;
  /** Why a call would be refused anyway, so that no question is asked about it. */
  readonly refusalOf: (call: CallState) => StepError | null;
}

/**
 * Advances the approvals of a step as far as possible: judges what has expired, asks questions that have not been asked, hands client calls to clients. The run
 * and its ancestors are locked. A repeat finds the existing questions and asks none twice.
 */
export async function moveApprovals(tx: TenantTransaction, locked: LockedRuns, { step, refusalOf }: GateMove): Promise<MovedGates> {
  const { run } = locked;
  if (run.status !== 'running' && run.status !== 'waiting') return nothingOpen;

  const found = await openCallsOf(tx, run, step);
  const lead = [...(await release(tx, run, found)), ...(await expire(tx, run, found))];
  const calls = lead.length === 0 ? found : await openCallsOf(tx, run, step);
  const inEvaluation = calls.some(isNewWait) && (await isEvaluation(tx, run));
  lead.push(...(await askAbout(tx, run, { calls, refusalOf, inEvaluation })));
  const forClients = calls.filter((call) => call.state === 'ready' && isNewWait(call));
  if (inEvaluation && forClients.length > 0) return { ...nothingOpen, cancels: run.root_run_id };
  for (const call of forClients) lead.push(await openClientCall(tx, call));

  await settleStatus(tx, locked, { lead });
  return readGateState(tx, run.id, step);
}

async function openCallsOf(tx: TenantTransaction, run: RunState, step: number): Promise<CallState[]> {
  return (await lockOpenCalls(tx, [run.id])).filter((call) => call.step === step);
}

/** No question has been asked about the call yet, or it has not been handed to its client. */
function isNewWait(call: CallState): boolean {
  return call.state === 'recorded' || (call.state === 'ready' && call.clientOwned && call.deadlineAt === null);
}

/** Releases calls that ask for a consent which has been given meanwhile, for another call or in a sync of the toolkit. */
async function release(tx: TenantTransaction, run: RunState, calls: readonly CallState[]): Promise<FrameBatch[]> {
  const batches: FrameBatch[] = [];
  for (const call of calls) {
    if (call.gate !== 'auth' || call.state !== 'gated' || (await readConsent(tx, call)) !== 'granted') continue;
    const withdrawn = await withdrawQuestion(tx, { toolCallId: call.id });
    if (withdrawn) batches.push(stateBatch(identityOf(run), [resolvedFrame(withdrawn)]), ...(await readyCall(tx, call)));
  }
  return batches;
}

/** Applies missing answers to calls. A question whose expiry ends the run leaves its call as it is: `finishRun` closes it. */
async function expire(tx: TenantTransaction, run: RunState, calls: readonly CallState[]): Promise<FrameBatch[]> {
  const batches: FrameBatch[] = [];
  const expired = await expireQuestions(tx, run, batches);
  for (const approval of expired) {
    const call = calls.find(({ id }) => id === approval.toolCallId);
    if (call && approval.onExpiry === 'deny') batches.push(...(await applyAnswer(tx, call, approval)));
  }
  const now = followedTime(tx.em);
  for (const call of calls) {
    const isLate = call.clientOwned && call.state === 'ready' && call.deadlineAt !== null && new Date(call.deadlineAt) <= now;
    if (isLate) batches.push(...(await expireClientCall(tx, call)));
  }
  return batches;
}
