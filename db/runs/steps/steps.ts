import { sql } from 'kysely';
import { preparedList } from '../../page-query.ts';
import type { PageRequest } from '../../page.ts';
import type { ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { iso } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { stepKinds } from './run-step.entity.ts';

/** A step as views show it. */
export type RunStepRow = Awaited<ReturnType<typeof listStepRows>>['items'][number];

type StepKind = (typeof stepKinds)[number];

export interface StepFilters {
  readonly kind?: StepKind;
  readonly tool_call_id?: string;
}

interface StepArguments {
  readonly runId: string;
  readonly workspaceId: string;
  readonly kind: StepKind | undefined;
  readonly toolCallId: string | undefined;
}

const stepsOfRun = preparedList(
  ({ runId, workspaceId, kind, toolCallId }: ParametersOf<StepArguments>) => {
    let steps = query
      .selectFrom('run_steps as t')
      .select(['t.id', 't.runId', 't.step', 't.kind', 't.name', 't.status', 't.attempt', 't.messageId', 't.toolCallId', 't.childRunId'])
      .select(['t.args', 't.outputPreview', 't.error', 't.retries', 't.usage', 't.startedAt', 't.firstTokenAt', 't.finishedAt'])
      .select(['t.traceId', 't.spanId'])
      .select(
        sql<number | null>`coalesce(t.duration_ms, floor(extract(epoch from t.finished_at - t.started_at) * 1000)::int)`.as('durationMs'),
      )
      .where('t.runId', '=', runId)
      .where('t.workspaceId', '=', workspaceId);
    if (kind) steps = steps.where('t.kind', '=', kind);
    if (toolCallId) steps = steps.where('t.toolCallId', '=', toolCallId);
    return steps;
  },
  [{ column: 't.id', type: 'uuid', descending: false }],
);

/** Lists model and tool calls of a run that the caller may see, oldest first. */
export function listStepRows(
  tx: Pick<TenantTransaction, 'em'>,
  run: { readonly id: string; readonly workspace_id: string },
  { kind, tool_call_id: toolCallId }: StepFilters,
  page: PageRequest,
) {
  return stepsOfRun(tx.em, { runId: run.id, workspaceId: run.workspace_id, kind, toolCallId }, page);
}

/** Returns the wire form of a step. */
export function toRunStepView(row: RunStepRow) {
  return {
    id: row.id,
    run_id: row.runId,
    step: row.step,
    kind: row.kind,
    name: row.name,
    status: row.status,
    attempt: row.attempt,
    message_id: row.messageId,
    tool_call_id: row.toolCallId,
    child_run_id: row.childRunId,
    args: row.args,
    output_preview: row.outputPreview?.slice(0, 2_000).toWellFormed() ?? null,
    error: row.error,
    retries: row.retries,
    usage: row.usage,
    started_at: iso(row.startedAt),
    first_token_at: iso(row.firstTokenAt),
    finished_at: iso(row.finishedAt),
    duration_ms: row.durationMs,
    trace_id: row.traceId,
    span_id: row.spanId,
  };
}
