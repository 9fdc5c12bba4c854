import { readConsent } from '../../db/mcp/consent-of-call.ts';
import type { CallState } from '../../db/runs/calls/call-state.ts';
import { resultWithoutOutput } from '../../db/runs/run-frames.ts';
import { identityOf, type RunState } from '../../db/runs/run-state.ts';
import type { StepError } from '../../db/runs/run-types.ts';
import { endCall, resultBatch } from '../runs/calls/tool-calls.ts';
import { stateBatch, type FrameBatch } from '../../db/streams/append.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { requestedFrame, resolvedFrame } from '../../db/approvals/approval-frames.ts';
import { applyAnswer, denyRepeated, readyCall } from './call-answers.ts';
import { setGated } from '../../db/runs/calls/require-approval.ts';
import { insertQuestions, type Question } from '../../db/approvals/questions.ts';
import { readApprovedSlugs, readRejected } from '../../db/approvals/earlier-answers.ts';
import { questionOfCall } from './question-of-call.ts';

export interface Asked {
  /** The open calls of a step, locked, in the model's order. */
  readonly calls: readonly CallState[];
  readonly refusalOf: (call: CallState) => StepError | null;
  /** In an evaluation no person answers: every question is rejected as it is asked. */
  readonly inEvaluation: boolean;
}

/** Asks the questions of calls that have not been asked about, where one is needed. Returns the frames. */
export async function askAbout(tx: TenantTransaction, run: RunState, asked: Asked): Promise<FrameBatch[]> {
  const recorded = asked.calls.filter((call) => call.state === 'recorded');
  if (recorded.length === 0) return [];

  const batches: FrameBatch[] = [];
  const questions: Question[] = [];
  const sort = await sorting(tx, run, asked.calls);
  for (const call of recorded) {
    const refusal = asked.refusalOf(call);
    if (refusal !== null) batches.push(...(await refuse(tx, call, refusal)));
    else if (sort.isRejected(call)) batches.push(...(await denyRepeated(tx, call)));
    else if (sort.isApproved(call)) batches.push(...(await readyCall(tx, call)));
    else if (!sort.isHeldBack(call)) {
      const consent = call.gate === 'auth' ? await readConsent(tx, call) : null;
      if (consent === 'granted') batches.push(...(await readyCall(tx, call)));
      else if (call.gate === 'auth' && consent === null) batches.push(...(await refuse(tx, call, consentLost)));
      else questions.push(questionOfCall(run, call, consent));
    }
  }
  return [...batches, ...(await put(tx, run, { ...asked, calls: recorded, questions }))];
}

const consentLost = {
  code: 'auth_required',
  message: 'the consent that the server asks for can not be had any more',
  retryable: false,
  reason: null,
};

/** Earlier decisions on calls like these. */
async function sorting(tx: TenantTransaction, run: RunState, calls: readonly CallState[]) {
  const rejected = await readRejected(tx, run.id);
  const approved = calls.some(({ gate }) => gate === 'first') ? await readApprovedSlugs(tx, run.id) : new Set<string>();
  const firsts = new Set(calls.filter((call) => call.gate === 'first' && call.state === 'gated').map(({ slug }) => slug));
  const asksForCall = ({ gate }: CallState) => gate === 'critical' || gate === 'binding' || gate === 'first' || gate === 'effect';
  return {
    isRejected: (call: CallState) => asksForCall(call) && rejected.has(`${call.slug} ${call.argsHash}`),
    isApproved: (call: CallState) => call.gate === 'first' && approved.has(call.slug),
    /** Asked once per run and tool: the other calls wait for the decision on the first. */
    isHeldBack: (call: CallState) => {
      if (call.gate !== 'first') return false;
      const isBehind = firsts.has(call.slug);
      firsts.add(call.slug);
      return isBehind;
    },
  };
}

async function put(
  tx: TenantTransaction,
  run: RunState,
  { calls, questions, inEvaluation }: Pick<Asked, 'calls' | 'inEvaluation'> & { readonly questions: readonly Question[] },
): Promise<FrameBatch[]> {
  if (questions.length === 0) return [];
  await setGated(
    tx,
    questions.flatMap(({ call }) => call?.id ?? []),
  );
  const rejected = inEvaluation ? { comment: 'Nobody is asked in an evaluation.' } : null;
  const approvals = await insertQuestions(tx, run, questions, rejected);
  const frames = approvals.flatMap((approval) => {
    const requested = requestedFrame(approval);
    return inEvaluation ? [requested, resolvedFrame(approval)] : [requested];
  });
  const batches: FrameBatch[] = [stateBatch(identityOf(run), frames)];
  if (!inEvaluation) return batches;
  for (const approval of approvals) {
    const call = calls.find(({ id }) => id === approval.toolCallId);
    if (call) batches.push(...(await applyAnswer(tx, call, approval)));
  }
  return batches;
}

async function refuse(tx: TenantTransaction, call: CallState, fault: StepError): Promise<FrameBatch[]> {
  const frame = await endCall(tx, call, null, { state: 'failed', result: resultWithoutOutput('failed', fault), rest: null });
  return frame === null ? [] : [resultBatch(call, call.attempt + 1, frame)];
}
