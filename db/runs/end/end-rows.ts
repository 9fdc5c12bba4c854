import { sql } from 'kysely';
import { filesMade } from '../../attachments/run-attachments.ts';
import { clockTime, literals, msSince, now } from '../../expressions.ts';
import { insertFrom } from '../../insert-from.ts';
import { jsonb, jsonText, type JsonText } from '../../json-text.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { row, queueStatement } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { FinishedRun, RunOutput, StopReason } from '../run-frames.ts';
import type { RunState } from '../run-state.ts';
import type { ContentBlock, RunError } from '../run-types.ts';

const stepBehind = prepared(({ runId, step }: ParametersOf<{ readonly runId: string; readonly step: number }>) =>
  query.selectFrom('run_steps').select('step').where('runId', '=', runId).where('step', '>', step).limit(sql.lit(1)),
);

/** Returns whether a run has begun a later step than this one. */
export async function hasStepBehind(tx: TenantTransaction, runId: string, step: number): Promise<boolean> {
  return (await row(tx.em, stepBehind({ runId, step }))) !== null;
}

/** A message that was still being streamed. */
interface PartialMessage {
  readonly messageId: string;
  readonly step: number | null;
  readonly stopReason: StopReason;
  readonly content: readonly ContentBlock[];
}

interface NewPartial {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly conversationId: string;
  readonly runId: string;
  readonly turn: number;
  readonly step: number | null;
  readonly content: JsonText<ContentBlock[]>;
  readonly model: string | null;
  readonly stopReason: StopReason;
}

const newPartial = prepared((p: ParametersOf<NewPartial>) =>
  insertFrom('messages', query.selectFrom('messages').where('runId', '=', p.runId), ({ ref }) => ({
    id: p.id,
    organizationId: p.organizationId,
    workspaceId: p.workspaceId,
    conversationId: p.conversationId,
    runId: p.runId,
    turn: p.turn,
    pos: sql<number>`coalesce(max(${ref('pos')}) + 1, 0)`,
    step: p.step,
    role: sql.lit('assistant'),
    origin: sql.lit('model'),
    content: jsonb(p.content),
    toolCallIds: sql<string[]>`'{}'`,
    model: p.model,
    stopReason: p.stopReason,
    state: sql.lit('pending'),
    attempt: sql.lit(1),
    createdAt: now,
  })),
);

/** Writes a message as far as it got, after the other messages of its run. Goes with the next statement. */
export async function insertPartialMessage(tx: TenantTransaction, run: RunState, partial: PartialMessage): Promise<void> {
  await queueStatement(
    tx.em,
    newPartial({
      id: partial.messageId,
      organizationId: run.organization_id,
      workspaceId: run.workspace_id,
      conversationId: run.conversation_id,
      runId: run.id,
      turn: run.turn_no ?? 0,
      step: partial.step,
      content: jsonText([...partial.content]),
      model: run.manifest?.models[0] ?? null,
      stopReason: partial.stopReason,
    }),
  );
}

const lastAnswer = prepared(({ runId }: ParametersOf<{ readonly runId: string }>) =>
  query
    .selectFrom('messages as m')
    .innerJoin('runs as r', 'r.id', 'm.runId')
    .select(({ ref }) => ['m.content', filesMade(ref('r.id')).as('files')])
    .where('m.runId', '=', runId)
    .where('m.role', '=', sql.lit('assistant'))
    .where('m.turn', 'is not distinct from', ({ fn, lit }) => fn.coalesce('r.turnNo', lit(0)))
    .orderBy('m.pos', 'desc')
    .limit(sql.lit(1)),
);

/** Returns the model's last message in a run's turn, and the files that the run has created. */
export function readLastAnswer(tx: TenantTransaction, runId: string) {
  return row(tx.em, lastAnswer({ runId }));
}

type SettledState = 'committed' | 'discarded';

const settledMessages = prepared(({ runId, state }: ParametersOf<{ readonly runId: string; readonly state: SettledState }>) =>
  query.updateTable('messages').set({ state }).where('runId', '=', runId).where('state', '=', sql.lit('pending')),
);

/** Commits or discards a run's pending messages. Goes with the next statement. */
export async function settleMessages(tx: TenantTransaction, runId: string, state: SettledState): Promise<void> {
  await queueStatement(tx.em, settledMessages({ runId, state }));
}

interface ClosedSteps {
  readonly runId: string;
  readonly status: 'cancelled' | 'failed';
  readonly error: JsonText<RunError> | null;
}

const closedSteps = prepared(({ runId, status, error }: ParametersOf<ClosedSteps>) =>
  query
    .updateTable('run_steps')
    .set(({ ref }) => ({ status, error: jsonb(error), finishedAt: clockTime, durationMs: msSince(ref('startedAt')) }))
    .where('runId', '=', runId)
    .where('status', '=', sql.lit('running')),
);

/** Ends the open steps of a run. Goes with the next statement. */
export async function closeSteps(
  tx: TenantTransaction,
  runId: string,
  { status, error }: { readonly status: 'cancelled' | 'failed'; readonly error: FinishedRun['error'] },
): Promise<void> {
  await queueStatement(tx.em, closedSteps({ runId, status, error: error === null ? null : jsonText(error) }));
}

interface WrittenEnd extends Pick<FinishedRun, 'status' | 'finishReason'> {
  readonly runId: string;
  readonly output: JsonText<RunOutput> | null;
  readonly error: JsonText<RunError> | null;
  readonly finishedAt: string;
}

const finished = prepared(({ runId, status, finishReason, output, error, finishedAt }: ParametersOf<WrittenEnd>) =>
  query
    .with('waited', (of) =>
      of
        .selectFrom('runs')
        .select(({ ref }) => [
          'id',
          sql<number>`${ref('waitedMs')} + coalesce((extract(epoch from ${finishedAt}::timestamptz - ${ref('waitingSince')}) * 1000)::bigint, 0)`.as(
            'ms',
          ),
        ])
        .where('id', '=', runId),
    )
    .updateTable('runs')
    .from('waited')
    .set(({ ref }) => ({
      status,
      finishReason,
      output: jsonb(output),
      error: jsonb(error),
      finishedAt,
      waitingOn: null,
      waitingUntil: null,
      waitingSince: null,
      waitedMs: ref('waited.ms'),
      activeMs: sql<number>`greatest(0, coalesce((extract(epoch from ${finishedAt}::timestamptz - ${ref('runs.startedAt')}) * 1000)::bigint, 0) - ${ref('waited.ms')})`,
      queueNo: null,
      updatedAt: finishedAt,
    }))
    .whereRef('runs.id', '=', 'waited.id')
    .where('runs.status', 'in', literals('queued', 'running', 'waiting', 'cancelling')),
);

/** Writes the outcome of a run that has none. Goes with the next statement. */
export async function writeFinished(
  tx: TenantTransaction,
  runId: string,
  { status, finishReason, output, error, finishedAt }: FinishedRun,
): Promise<void> {
  await queueStatement(
    tx.em,
    finished({
      runId,
      status,
      finishReason,
      output: output === null ? null : jsonText(output),
      error: error === null ? null : jsonText(error),
      finishedAt: finishedAt.toISOString(),
    }),
  );
}
