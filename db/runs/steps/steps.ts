import { fetchPage } from '../../page-query.ts';
import type { Page, PageRequest } from '../../page.ts';
import { iso } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { StepFault, StepRetry, UsageTotals } from '../run-types.ts';

export interface RunStepRow {
  readonly id: string;
  readonly run_id: string;
  readonly step: number;
  readonly kind: 'model' | 'tool' | 'sub_agent' | 'system';
  readonly name: string;
  readonly status: 'running' | 'succeeded' | 'failed' | 'denied' | 'timed_out' | 'cancelled';
  readonly attempt: number;
  readonly message_id: string | null;
  readonly tool_call_id: string | null;
  readonly child_run_id: string | null;
  readonly args: Record<string, unknown> | null;
  readonly output_preview: string | null;
  readonly error: StepFault | null;
  readonly retries: StepRetry[];
  readonly usage: UsageTotals | null;
  readonly started_at: Date | string;
  readonly first_token_at: Date | string | null;
  readonly finished_at: Date | string | null;
  readonly duration_ms: number | null;
  readonly trace_id: string | null;
  readonly span_id: string | null;
}

export interface StepFilters {
  readonly kind?: RunStepRow['kind'];
  readonly tool_call_id?: string;
}

const columns = `t.id, t.run_id, t.step, t.kind, t.name, t.status, t.attempt, t.message_id, t.tool_call_id, t.child_run_id, t.args, t.output_preview, t.error, t.retries,
  t.usage, t.started_at, t.first_token_at, t.finished_at,
  coalesce(t.duration_ms, floor(extract(epoch from t.finished_at - t.started_at) * 1000)::int) as duration_ms, t.trace_id, t.span_id`;

/** Lists model and tool calls of a run that the caller may see, oldest first. */
export function listStepRows(
  tx: Pick<TenantTransaction, 'em'>,
  run: { readonly id: string; readonly workspace_id: string },
  filters: StepFilters,
  page: PageRequest,
): Promise<Page<RunStepRow>> {
  const where = ['t.run_id = ?', 't.workspace_id = ?'];
  const params: unknown[] = [run.id, run.workspace_id];
  if (filters.kind !== undefined) {
    where.push('t.kind = ?');
    params.push(filters.kind);
  }
  if (filters.tool_call_id !== undefined) {
    where.push('t.tool_call_id = ?');
    params.push(filters.tool_call_id);
  }
  return fetchPage<RunStepRow>(tx.em, {
    select: columns,
    from: 'run_steps t',
    where: where.join(' and '),
    params,
    order: [{ column: 't.id', type: 'uuid', descending: false }],
    page,
  });
}

/** Returns the wire form of a step. */
export function toRunStepView(row: RunStepRow) {
  return {
    id: row.id,
    run_id: row.run_id,
    step: row.step,
    kind: row.kind,
    name: row.name,
    status: row.status,
    attempt: row.attempt,
    message_id: row.message_id,
    tool_call_id: row.tool_call_id,
    child_run_id: row.child_run_id,
    args: row.args,
    output_preview: row.output_preview?.slice(0, 2_000).toWellFormed() ?? null,
    error: row.error,
    retries: row.retries,
    usage: row.usage,
    started_at: iso(row.started_at),
    first_token_at: iso(row.first_token_at),
    finished_at: iso(row.finished_at),
    duration_ms: row.duration_ms,
    trace_id: row.trace_id,
    span_id: row.span_id,
  };
}
