import { sql } from 'kysely';
import type { CallApproval } from '../../../workflows/contracts/runs/approvals.ts';
import type { ModelUsage } from '../../billing/ledger/usage.ts';
import { clockTime, msSince, now } from '../../expressions.ts';
import { jsonb, jsonText, type JsonText } from '../../json-text.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { change, row, queueStatement } from '../../sql.ts';
import type { ContentBlock } from '../../streams/frame-parts.schema.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { FollowUp } from '../start/follow-up.ts';
import type { CallIdentity, StopReason } from '../run-frames.ts';
import type { RunState } from '../run-state.ts';
import type { StepError } from '../run-types.ts';

/** A call that the model asked for, after checks: `refusal` is its result when it cannot be executed at all. */
export interface CheckedCall extends CallIdentity {
  readonly pos: number;
  readonly providerCallId: string;
  readonly concurrency: 'read' | 'write' | 'exclusive';
  readonly timeoutS: number;
  readonly responseMaxChars: number;
  readonly isIdempotent: boolean;
  readonly args: Record<string, unknown>;
  readonly argsHash: string;
  readonly critical: boolean;
  readonly clientOwned: boolean;
  /** Why the call needs an approval before it is executed; null: it needs none. */
  readonly gate: CallApproval | null;
  readonly refusal: StepError | null;
}

/** An answered model step, as it is stored. */
export interface ModelStepResult {
  readonly runId: string;
  readonly step: number;
  readonly attempt: number;
  readonly messageId: string;
  readonly model: string;
  readonly stopReason: StopReason;
  readonly content: ContentBlock[];
  readonly providerState: Readonly<Record<string, unknown>> | null;
  readonly calls: readonly CheckedCall[];
  /** The next message to the model when its answer was not accepted; null: none. */
  readonly followUp: FollowUp | null;
  readonly firstTokenAt: Date | null;
  readonly usage: ModelUsage;
}

interface ClosedStep {
  readonly runId: string;
  readonly step: number;
  readonly attempt: number;
  readonly model: string;
  readonly messageId: string;
  readonly preview: string;
  readonly firstTokenAt: string | null;
}

const closedStep = prepared((p: ParametersOf<ClosedStep>) =>
  query
    .updateTable('run_steps')
    .set(({ ref }) => ({
      status: 'succeeded',
      inFlight: null,
      name: p.model,
      messageId: p.messageId,
      outputPreview: p.preview,
      firstTokenAt: p.firstTokenAt,
      finishedAt: clockTime,
      durationMs: msSince(ref('startedAt')),
    }))
    .where('runId', '=', p.runId)
    .where('step', '=', p.step)
    .where('toolCallId', 'is', null)
    .where('attempt', '=', p.attempt)
    .where('status', '=', sql.lit('running')),
);

/** Closes the step of a try. Returns false when a later try holds the step, or when it is closed. */
export async function closeStep(tx: TenantTransaction, result: ModelStepResult): Promise<boolean> {
  const { runId, step, attempt, model, messageId } = result;
  const preview = result.content
    .map((block) => ('text' in block && block.type === 'text' ? block.text : ''))
    .join('')
    .slice(0, 2_000)
    .toWellFormed();
  const firstTokenAt = result.firstTokenAt?.toISOString() ?? null;
  return (await change(tx.em, closedStep({ runId, step, attempt, model, messageId, preview, firstTokenAt }))) > 0;
}

const storedMessage = prepared(({ messageId, runId }: ParametersOf<{ messageId: string; runId: string }>) =>
  query.selectFrom('messages').select('id').where('id', '=', messageId).where('runId', '=', runId).where('stopReason', 'is not', null),
);

/** Returns whether the step's answer is stored: a commit whose reply was lost has written everything. */
export async function isStored(tx: TenantTransaction, { messageId, runId }: ModelStepResult): Promise<boolean> {
  return (await row(tx.em, storedMessage({ messageId, runId }))) !== null;
}

const positionAfter = prepared(({ runId }: ParametersOf<{ runId: string }>) =>
  query
    .selectFrom('messages')
    .select(({ ref }) => sql<number>`coalesce(max(${ref('pos')}) + 1, 0)`.as('pos'))
    .where('runId', '=', runId),
);

/** Returns the position after the messages of a run. */
export async function nextPosition(tx: TenantTransaction, runId: string): Promise<number> {
  const found = await row(tx.em, positionAfter({ runId }));
  return found?.pos ?? 0;
}

interface NewAnswer {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly conversationId: string;
  readonly runId: string;
  readonly turn: number;
  readonly pos: number;
  readonly step: number;
  readonly content: JsonText<ContentBlock[]>;
  readonly toolCallIds: readonly string[];
  readonly model: string;
  readonly stopReason: StopReason;
  readonly attempt: number;
  readonly providerState: JsonText<Record<string, unknown>> | null;
}

const newAnswer = prepared((p: ParametersOf<NewAnswer>) =>
  query.insertInto('messages').values({
    id: p.id,
    organizationId: p.organizationId,
    workspaceId: p.workspaceId,
    conversationId: p.conversationId,
    runId: p.runId,
    turn: p.turn,
    pos: p.pos,
    step: p.step,
    role: 'assistant',
    origin: 'model',
    content: jsonb(p.content),
    toolCallIds: sql<string[]>`${p.toolCallIds}::uuid[]`,
    toolCallId: sql.lit(null),
    model: p.model,
    stopReason: p.stopReason,
    state: 'pending',
    attempt: p.attempt,
    providerState: jsonb(p.providerState),
    createdAt: now,
  }),
);

/** Writes the model's message. Goes with the next statement. */
export async function insertAssistantMessage(tx: TenantTransaction, run: RunState, result: ModelStepResult, pos: number): Promise<void> {
  await queueStatement(
    tx.em,
    newAnswer({
      id: result.messageId,
      organizationId: run.organization_id,
      workspaceId: run.workspace_id,
      conversationId: run.conversation_id,
      runId: run.id,
      turn: run.turn_no ?? 0,
      pos,
      step: result.step,
      content: jsonText(result.content),
      toolCallIds: result.calls.map((call) => call.toolCallId),
      model: result.model,
      stopReason: result.stopReason,
      attempt: result.attempt,
      providerState: result.providerState === null ? null : jsonText(result.providerState),
    }),
  );
}

const countedStep = prepared(({ runId, step }: ParametersOf<{ runId: string; step: number }>) =>
  query
    .updateTable('runs')
    .set(({ ref }) => ({ steps: sql<number>`greatest(${ref('steps')}, ${step}::int)`, updatedAt: now }))
    .where('id', '=', runId),
);

/** Records that a run has reached a step. Goes with the next statement. */
export async function countStep(tx: TenantTransaction, runId: string, step: number): Promise<void> {
  await queueStatement(tx.em, countedStep({ runId, step }));
}
