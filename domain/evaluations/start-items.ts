import { openItemConversation, writeItemMessages } from '../../db/evaluations/item-conversation.ts';
import { nextPending, type EvaluationState, type PendingResult } from '../../db/evaluations/work.ts';
import { recordNotStarted, recordStarted, type StartedResult } from '../../db/evaluations/write-work.ts';
import { newId } from '../../db/ids.ts';
import { startRuns } from '../runs/start/start-run.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { ItemInput, ItemMessage } from '../../workflows/contracts/evaluations.ts';
import { Failure } from '../../workflows/contracts/failure.ts';
import type { StartRun } from '../../db/runs/start/start-run.ts';

/** The outcome of starting items: the number of started runs, or why there will be no more. */
export type StartedItems = { readonly started: number } | { readonly failureCode: string };

/**
 * Starts the runs of the next items of an evaluation that the caller has locked, and updates their results in the same transaction. Each run uses the pinned
 * revision and a conversation of its own. An item whose run the agent refuses ends in error; a full budget, an agent that no longer exists and a frozen
 * workspace end the evaluation.
 */
export async function startItems(
  tx: TenantTransaction,
  evaluation: EvaluationState,
  { limit, currency }: { readonly limit: number; readonly currency: string },
): Promise<StartedItems> {
  const pending = limit > 0 ? await nextPending(tx, evaluation.id, limit) : [];
  if (pending.length === 0) return { started: 0 };
  const drafts: { readonly result: PendingResult; readonly start: StartRun; readonly earlier: readonly ItemMessage[] }[] = [];
  for (const result of pending) {
    const { input, earlier } = inputOf(result.input);
    const conversationId = earlier.length === 0 ? null : await openItemConversation(tx, evaluation, earlier);
    drafts.push({ result, earlier, start: startOf(evaluation, { input, currency, conversationId, firstPos: earlier.length }) });
  }

  const outcomes = await startRuns(
    tx,
    drafts.map(({ start }) => start),
  );
  const started: StartedResult[] = [];
  for (const [at, { result, start, earlier }] of drafts.entries()) {
    const outcome = outcomes[at];
    if (outcome === undefined) throw new Error('a start gave nothing');
    if (!(outcome instanceof Failure)) {
      started.push({ id: result.id, runId: outcome.run.id });
      const conversationId = start.continued?.conversationId ?? null;
      if (conversationId !== null) await writeItemMessages(tx, evaluation, { conversationId, runId: outcome.run.id, messages: earlier });
      continue;
    }
    const failureCode = failureCodeOf(outcome);
    if (failureCode !== null && started.length === 0) return { failureCode };
    // A temporary failure, or one that ends the evaluation at the next check, leaves the item pending.
    if (failureCode === null && !outcome.retryable) await recordNotStarted(tx, result.id, outcome.detail);
  }
  await recordStarted(tx, started);
  return { started: started.length };
}

/** The code with which a refusal ends the whole evaluation; null: it does not. */
function failureCodeOf({ code, context, errors }: Failure): string | null {
  if (code === 'budget_exceeded' || code === 'resource_frozen') return code;
  const isInactive =
    context['reason'] === 'agent_inactive' || errors.some(({ pointer }) => pointer === '/agent_id' || pointer === '/revision_id');
  return isInactive ? 'agent_inactive' : null;
}

function inputOf(input: ItemInput): { readonly input: StartRun['input']; readonly earlier: readonly ItemMessage[] } {
  if (typeof input === 'string') return { input: { text: input }, earlier: [] };
  if (!isMessages(input)) return { input: { json: { ...input } }, earlier: [] };
  return { input: { text: input.at(-1)?.content ?? '' }, earlier: input.slice(0, -1) };
}

function isMessages(input: Exclude<ItemInput, string>): input is readonly ItemMessage[] {
  return Array.isArray(input);
}

interface ItemStart {
  readonly input: StartRun['input'];
  readonly currency: string;
  /** Null: there are no earlier messages. */
  readonly conversationId: string | null;
  readonly firstPos: number;
}

function startOf(
  { id, workspaceId, agentId, agentRevisionId, settings, createdByUserId }: EvaluationState,
  { input, currency, conversationId, firstPos }: ItemStart,
): StartRun {
  return {
    id: newId(),
    workspaceId,
    defaultWorkspaceId: null,
    agent: { id: agentId },
    revisionId: agentRevisionId,
    personaSlug: null,
    input,
    sessionKey: null,
    subject: null,
    source: 'evaluation',
    evaluationRunId: id,
    createdBy: { kind: createdByUserId === null ? 'system' : 'user', id: createdByUserId, actingUserId: null },
    onBusy: 'enqueue',
    // No person is there to approve a call.
    limits: { max_duration_s: settings.item_timeout_s, on_budget: 'fail' },
    metadata: {},
    currency,
    ...(conversationId === null ? {} : { continued: { conversationId, firstPos } }),
    ...(settings.tool_mode === 'read_only' ? { cause: { maxEffect: 'read' as const } } : {}),
  };
}
