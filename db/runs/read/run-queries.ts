import { sql } from 'kysely';
import type { RunStatus, WaitingOn } from '../../../workflows/contracts/runs/runs.ts';
import type { Condition } from '../../condition.ts';
import { preparedList } from '../../page-query.ts';
import type { PageRequest } from '../../page.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { visibleToSql, tenantPredicate, seen, visibleTo, type Scoped } from '../../scope.ts';
import { row } from '../../sql.ts';
import type { AttachmentPart } from '../../streams/frame-parts.schema.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { pendingCallsSql, type PendingCallRow } from '../calls/shown-calls.ts';
import { Run } from '../run.entity.ts';
import type { RunRow } from './run-view.ts';

type Json = Record<string, unknown> | null;

/** The place in the queue, from 1. */
const queuePosition = sql<number | null>`case when r.status = 'queued' and r.queue_no is not null then (
  select count(*)::int from runs q where q.conversation_id = r.conversation_id and q.status = 'queued' and q.queue_no <= r.queue_no) end`;

function selectRuns() {
  return (
    query
      .selectFrom('runs as r')
      .leftJoin('run_streams as s', 's.runId', 'r.id')
      .where('r.deletedAt', 'is', null)
      .select(['r.id', 'r.organizationId', 'r.workspaceId', 'r.agentId', 'r.agentRevisionId', 'r.rootRunId', 'r.parentRunId'])
      .select(['r.parentToolCallId', 'r.retryOfRunId', 'r.forkedAtMessageId', 'r.triggerId', 'r.evaluationRunId', 'r.bindingId'])
      .select([
        'r.agentSlug',
        'r.personaSlug',
        'r.sessionKey',
        'r.source',
        'r.subjectKind',
        'r.subjectId',
        'r.createdByKind',
        'r.createdById',
      ])
      .select(['r.createdByActingUserId', 'r.status', 'r.waitingOn', 'r.waitingUntil', 'r.finishReason', queuePosition.as('queuePosition')])
      .select([sql<boolean>`r.output is not null`.as('hasOutput'), 'r.error', 'r.warnings', 'r.limits', 'r.usageOwn', 'r.usageSubtree'])
      .select(['r.steps', 'r.depth', sql<number>`coalesce(s.head_seq, 0)::int8`.as('lastSeq'), 'r.pendingApprovals', 'r.onBusy'])
      .select(['r.cancelPolicy', 'r.metadata', 'r.startAfter', 'r.startedAt', 'r.finishedAt', 'r.cancelRequestedAt', 'r.createdAt'])
      .select('r.updatedAt')
      // Files are few and their entries short, so lists include all of them.
      .select(sql<readonly AttachmentPart[]>`coalesce(r.input -> 'attachments', '[]')`.as('inputAttachments'))
      .select(sql<readonly AttachmentPart[]>`coalesce(r.output -> 'attachments', '[]')`.as('outputAttachments'))
  );
}

const oneRun = prepared(({ runId, visible }: ParametersOf<{ readonly runId: string; readonly visible: Condition }>) =>
  selectRuns()
    .where('r.id', '=', runId)
    .where(visible)
    .select(sql<string | null>`r.input ->> 'text'`.as('inputText'))
    .select(sql<Json>`r.input -> 'json'`.as('inputJson'))
    .select(sql<boolean>`false`.as('inputCut'))
    .select(sql<string | null>`r.output ->> 'text'`.as('outputText'))
    .select(sql<Json>`nullif(r.output -> 'json', 'null')`.as('outputJson'))
    .select(sql<boolean>`false`.as('outputCut'))
    // Null in lists.
    .select(sql.raw<readonly PendingCallRow[] | null>(pendingCallsSql).as('pendingToolCalls')),
);

/** Returns a run in the tenant of the transaction, or null when it does not exist there. */
export function readRunRow(tx: Pick<TenantTransaction, 'em' | 'tenant'>, runId: string) {
  return row(tx.em, oneRun({ runId, visible: tenantPredicate(tx.tenant, 'r') }));
}

/** Returns a run that the caller may see. Throws 404, or 403 below the floor in its workspace. */
export async function seeRun(ctx: Scoped, runId: string): Promise<RunRow> {
  return seen(ctx, await row(ctx.em, oneRun({ runId, visible: visibleToSql(ctx, Run, 'r') })));
}

/** The row scope of a run. */
export type RunScope = Awaited<ReturnType<typeof requireRun>>;

const runScope = prepared(({ runId, visible }: ParametersOf<{ readonly runId: string; readonly visible: Condition }>) =>
  query
    .selectFrom('runs as r')
    .select(['r.id', 'r.organizationId as organization_id', 'r.workspaceId as workspace_id'])
    .where('r.id', '=', runId)
    .where('r.deletedAt', 'is', null)
    .where(visible),
);

/** Checks that the caller may see the run whose messages or steps it reads. Throws 404 unless the caller sees the run, 403 below the floor in its workspace. */
export async function requireRun(ctx: Scoped, runId: string) {
  return seen(ctx, await row(ctx.em, runScope({ runId, visible: visibleToSql(ctx, Run, 'r') })));
}

export interface RunFilters {
  readonly workspace_id?: string;
  readonly agent_id?: string;
  readonly status?: RunStatus;
  readonly waiting_on?: WaitingOn;
  readonly session_key?: string;
  readonly subject_id?: string;
  readonly trigger_id?: string;
  readonly parent_run_id?: string;
  readonly evaluation_run_id?: string;
  readonly binding_id?: string;
  readonly from?: string;
  readonly to?: string;
}

type ListArguments = RunFilters & { readonly visible: Condition };

/** Texts are truncated to 500 characters; longer JSON is omitted, and so are calls. */
function selectShort(visible: Condition) {
  return selectRuns()
    .where(visible)
    .select(sql<string | null>`left(r.input ->> 'text', 500)`.as('inputText'))
    .select(sql<Json>`case when length((r.input -> 'json')::text) <= 500 then r.input -> 'json' end`.as('inputJson'))
    .select(
      sql<boolean>`coalesce(length(r.input ->> 'text') > 500, false) or coalesce(length((r.input -> 'json')::text) > 500, false)`.as(
        'inputCut',
      ),
    )
    .select(sql<string | null>`left(r.output ->> 'text', 500)`.as('outputText'))
    .select(sql<Json>`case when length((r.output -> 'json')::text) <= 500 then nullif(r.output -> 'json', 'null') end`.as('outputJson'))
    .select(
      sql<boolean>`coalesce(length(r.output ->> 'text') > 500, false) or coalesce(length((r.output -> 'json')::text) > 500, false)`.as(
        'outputCut',
      ),
    )
    .select(sql<readonly PendingCallRow[] | null>`null`.as('pendingToolCalls'));
}

const runList = preparedList(
  ({ visible, ...filters }: ParametersOf<ListArguments>) => {
    let runs = selectShort(visible);
    if (filters.workspace_id) runs = runs.where('r.workspaceId', '=', filters.workspace_id);
    if (filters.agent_id) runs = runs.where('r.agentId', '=', filters.agent_id);
    if (filters.status) runs = runs.where('r.status', '=', filters.status);
    if (filters.waiting_on) runs = runs.where('r.waitingOn', '=', filters.waiting_on);
    if (filters.session_key) runs = runs.where('r.sessionKey', '=', filters.session_key);
    if (filters.subject_id) runs = runs.where('r.subjectId', '=', filters.subject_id);
    if (filters.trigger_id) runs = runs.where('r.triggerId', '=', filters.trigger_id);
    if (filters.parent_run_id) runs = runs.where('r.parentRunId', '=', filters.parent_run_id);
    if (filters.evaluation_run_id) runs = runs.where('r.evaluationRunId', '=', filters.evaluation_run_id);
    if (filters.binding_id) runs = runs.where('r.bindingId', '=', filters.binding_id);
    if (filters.from) runs = runs.where('r.createdAt', '>=', filters.from);
    if (filters.to) runs = runs.where('r.createdAt', '<', filters.to);
    return runs;
  },
  [{ column: 'r.id', type: 'uuid', descending: true }],
);

/** Lists runs that the caller may see, newest first, with truncated texts. Ids of other tenants match nothing. */
export function listRunRows(ctx: Scoped, filters: RunFilters, page: PageRequest) {
  const { workspace_id, agent_id, status, waiting_on, session_key, subject_id, from, to } = filters;
  const { trigger_id, parent_run_id, evaluation_run_id, binding_id } = filters;
  const causes = { trigger_id, parent_run_id, evaluation_run_id, binding_id };
  const equal = { workspace_id, agent_id, status, waiting_on, session_key, subject_id, ...causes };
  return runList(ctx.em, { ...equal, from, to, visible: visibleTo(ctx, Run, 'r') }, page);
}
