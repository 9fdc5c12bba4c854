import { agentRunSignals } from '../../workflows/contracts/runs/agent-run.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { workflowIds } from '../../workflows/contracts/queues.ts';
import { isTerminal } from '../../workflows/contracts/runs/runs.ts';
import type { KeyRing } from '../../db/key-ring.ts';
import { addOutboxAll } from '../../db/outbox.ts';
import { readRunRow } from '../../db/runs/read/run-queries.ts';
import { identityOf, lockRunsWithTrees, type RunState } from '../../db/runs/run-state.ts';
import { toRunView } from '../../db/runs/read/run-view.ts';
import { lockCall } from '../../db/runs/calls/call-state.ts';
import { settleStatuses } from '../runs/waiting.ts';
import { stateBatch, type FrameBatch } from '../../db/streams/append.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { resolvedFrame } from '../../db/approvals/approval-frames.ts';
import type { ApprovalRow } from '../../db/approvals/approval-view.ts';
import { applyAnswer } from './call-answers.ts';
import { checkResolutions } from './check-resolutions.ts';
import { takeConsent } from './consent-answer.ts';
import { judgeState } from './judge-state.ts';
import {
  lockQuestions,
  pendingBelow,
  writeAnswer,
  type Resolution,
  type Resolver,
  type CheckedResolution,
} from '../../db/approvals/question-rows.ts';

export interface ResolveApprovals {
  /** The run whose questions, or whose descendants' questions, are answered. */
  readonly runId: string;
  readonly resolutions: readonly Resolution[];
  readonly by: Resolver;
  /** Throws 403 for a caller below the floor of a question. */
  readonly refuseBelow: (floor: 'member' | 'admin') => void;
  /** Returns where a value violates a schema; `TenantSchemas.validate`. */
  readonly validate: (
    schema: Readonly<Record<string, unknown>>,
    value: unknown,
  ) => Promise<readonly { readonly pointer: string; readonly message: string }[]>;
  /** Keys that encrypt the code of a returned consent. */
  readonly keys: Pick<KeyRing, 'keks'>;
  /** JSON pointer of the answer with this index in the body; default: `/resolutions/<n>`. */
  readonly pointerOf?: (index: number) => string;
}

export interface ResolvedApprovals {
  /** In their current state, in the order of the answers. */
  readonly approvals: readonly ApprovalRow[];
  readonly applied: number;
  readonly unchanged: number;
}

/**
 * Answers questions of a run and its descendants, all or none: approvals, calls, statuses, frames, and a signal for each waiting workflow. Locks the runs
 * itself. Throws 422 for an id that is not one of these questions and for an invalid answer, 403 below the floor, 409 `approval_resolved`, `approval_expired`,
 * `args_changed`, `run_finished`.
 */
export async function resolveApprovals(tx: TenantTransaction, input: ResolveApprovals): Promise<ResolvedApprovals> {
  const checked = await checkResolutions(tx, input);
  for (const { approval } of checked) input.refuseBelow(approval.approverFloor);
  refuseForeignConsents(checked, input.by);

  const runs = await lockRunsWithTrees(tx, [input.runId]);
  await refuseFinished(tx, runs, input.runId);
  const locked = await lockQuestions(
    tx,
    checked.map(({ approval }) => approval.id),
  );
  const open = checked.filter((one) => judgeState(one, locked.get(one.approval.id)) === 'open');
  const answered = await answerAll(tx, { input, open, runs });
  const now = new Map(answered.map((approval) => [approval.id, approval]));
  return {
    approvals: checked.map(({ approval }) => now.get(approval.id) ?? locked.get(approval.id) ?? approval),
    applied: answered.length,
    unchanged: checked.length - answered.length,
  };
}

/** Rejects all pending questions of a run and its descendants (`deny_pending`); returns how many. Throws 403 for a question above the caller's role. */
export async function denyPending(
  tx: TenantTransaction,
  input: Omit<ResolveApprovals, 'resolutions' | 'validate' | 'pointerOf'> & { readonly comment: string | null },
): Promise<number> {
  // Locked first, so that no other request answers the pending questions meanwhile.
  await lockRunsWithTrees(tx, [input.runId]);
  const pending = await pendingBelow(tx, input.runId);
  if (pending.length === 0) return 0;
  const resolutions = pending.map(({ id }): Resolution => ({ approval_id: id, decision: 'reject', comment: input.comment }));
  const { applied } = await resolveApprovals(tx, { ...input, resolutions, validate: () => Promise.resolve([]) });
  return applied;
}

interface Answering {
  readonly input: ResolveApprovals;
  readonly open: readonly CheckedResolution[];
  /** The runs of the tree, locked. */
  readonly runs: readonly RunState[];
}

/** Writes answers, applies them to their calls and runs, and wakes the workflows. */
async function answerAll(tx: TenantTransaction, { input, open, runs }: Answering): Promise<ApprovalRow[]> {
  const answered: ApprovalRow[] = [];
  const batches: FrameBatch[] = [];
  for (const one of open) {
    const run = runs.find(({ id }) => id === one.approval.runId);
    if (!run) throw fail('not_found');
    if (one.approval.reason === 'auth' && one.resolution.decision === 'respond') await takeConsent(tx, input.keys, one);
    const approval = await writeAnswer(tx, one, input.by);
    answered.push(approval);
    batches.push(stateBatch(identityOf(run), [resolvedFrame(approval)]));
    const call = approval.toolCallId === null ? null : await lockCall(tx, run.id, approval.toolCallId);
    if (call?.state === 'gated') batches.push(...(await applyAnswer(tx, call, approval)));
  }
  if (answered.length === 0) return answered;

  await settleStatuses(tx, runs, { lead: batches });
  await wake(tx, answered);
  return answered;
}

/** One signal per workflow: it reads the rows. */
async function wake(tx: TenantTransaction, answered: readonly ApprovalRow[]): Promise<void> {
  const first = new Map(answered.toReversed().map((approval) => [approval.runId, approval.id]));
  await addOutboxAll(
    tx,
    [...first].map(([runId, approvalId]) => ({
      message: { kind: 'workflow.signal', workflowId: workflowIds.run(runId), signal: agentRunSignals.approvalDecided },
      dedupeKey: `approval:${approvalId}`,
    })),
  );
}

async function refuseFinished(tx: TenantTransaction, runs: readonly RunState[], runId: string): Promise<void> {
  const run = runs.find(({ id }) => id === runId);
  if (!run) throw fail('not_found');
  if (!isTerminal(run.status)) return;
  const ended = await readRunRow(tx, run.id);
  throw fail('state_conflict', { reason: 'run_finished', detail: 'The run has ended.', context: { run: ended && toRunView(ended) } });
}

/** Only the person for whom the run works can give a consent, whoever else may answer for the run: it concerns that person's account. */
function refuseForeignConsents(checked: readonly CheckedResolution[], by: Resolver): void {
  const isForeign = checked.some(
    ({ approval, resolution, subjectId }) => approval.reason === 'auth' && resolution.decision === 'respond' && subjectId !== by.id,
  );
  if (isForeign) throw fail('resource_forbidden', { detail: 'Only the user for whom the run works can give this consent.' });
}
