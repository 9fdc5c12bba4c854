import { defineEntity, p } from '@mikro-orm/core';
import type { ReviewRequest } from '../../workflows/contracts/review/pull-requests.ts';
import { finishReasons, runSources, runStatuses, waitingOn } from '../../workflows/contracts/runs/runs.ts';
import {
  bigintColumn,
  createdAtColumn,
  idColumn,
  jsonColumn,
  textArrayColumn,
  timeColumn,
  updatedAtColumn,
  uuidArrayColumn,
  uuidColumn,
} from '../columns.ts';
import { index, tenantIndexes, uniqueIndex } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';
import type { RunInput } from './read/run-view.ts';
import type { RunOutput } from './run-frames.ts';
import { subjectKinds } from './start/conversation.entity.ts';
import type { Manifest } from './start/manifest.ts';
import type { RunError, RunLimits } from './run-types.ts';
import type { UsageTotals } from '../billing/ledger/usage.ts';

export const onBusyKinds = ['enqueue', 'reject', 'interrupt', 'rollback', 'steer'] as const;
export const cancelPolicies = ['interrupt', 'rollback'] as const;
export const creatorKinds = ['user', 'service_key', 'system'] as const;

const under = (column: string) => index('runs', column.replace(/_id$/, ''), `(${column}, id desc) where ${column} is not null`);

const schema = defineEntity({
  name: 'Run',
  tableName: 'runs',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('runs', 'tenant'),
  indexes: [
    ...tenantIndexes('runs'),
    index('runs', 'workspace', '(workspace_id, id desc)'),
    index('runs', 'agent', '(agent_id, id desc)'),
    index('runs', 'conversation', '(conversation_id, id desc)'),
    under('trigger_id'),
    under('evaluation_run_id'),
    under('binding_id'),
    uniqueIndex('runs', 'review_round', '(review_pull_request_id, review_round) where review_pull_request_id is not null'),
    under('parent_run_id'),
    index('runs', 'root', '(root_run_id)'),
    index('runs', 'live', "(workspace_id, status) where status in ('queued', 'running', 'waiting', 'cancelling')"),
    index('runs', 'delayed', "(start_after) where status = 'queued' and queue_no is null and activated_at is null"),
    index(
      'runs',
      'retention',
      '(organization_id, finished_at, id) where parent_run_id is null and deleted_at is null and finished_at is not null',
    ),
    index('runs', 'line', "(conversation_id, queue_no) where status = 'queued'"),
    index('runs', 'finished', '(organization_id, finished_at) where finished_at is not null'),
  ],
  uniques: [{ name: 'runs_tenant_key', properties: ['id', 'organizationId'] }],
  checks: [
    { name: 'runs_finished_at', expression: "(status in ('succeeded', 'failed', 'cancelled')) = (finished_at is not null)" },
    { name: 'runs_waiting_on', expression: "(status = 'waiting') = (waiting_on is not null)" },
    { name: 'runs_waiting_until', expression: "(status = 'waiting') = (waiting_until is not null)" },
    { name: 'runs_stop_is_success', expression: "(status = 'succeeded') = (finish_reason is not distinct from 'stop')" },
  ],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    agentId: uuidColumn(),
    agentRevisionId: uuidColumn(),
    conversationId: uuidColumn(),
    rootRunId: uuidColumn(),
    parentRunId: uuidColumn().strictNullable(),
    parentToolCallId: uuidColumn().strictNullable(),
    retryOfRunId: uuidColumn().strictNullable(),
    /** The trace in which it was started, as text (`ports/telemetry/origin.ts`); null: it was not traced, or nobody's trace started it. */
    trace: p.text().strictNullable(),
    forkedAtMessageId: uuidColumn().strictNullable(),
    triggerId: uuidColumn().strictNullable(),
    evaluationRunId: uuidColumn().strictNullable(),
    bindingId: uuidColumn().strictNullable(),
    /** For a review: its pull request, the round, the head and the playbook revision. */
    reviewPullRequestId: uuidColumn().strictNullable(),
    reviewRound: p.integer().strictNullable(),
    reviewHeadSha: p.text().strictNullable(),
    playbookRevisionId: uuidColumn().strictNullable(),
    review: p.json<ReviewRequest>().strictNullable(),
    /** Ids of the ancestors, root first; empty for a root. */
    lineage: uuidArrayColumn()
      .onCreate(() => [])
      .defaultRaw("'{}'"),
    /** Slugs of the agents from the root to this run; empty in roots created before sub-agents existed. */
    path: textArrayColumn()
      .onCreate(() => [])
      .defaultRaw("'{}'"),
    rootEventId: uuidColumn().strictNullable(),
    eventDepth: p.integer().default(0),
    agentSlug: p.text(),
    personaSlug: p.text().strictNullable(),
    sessionKey: p.text().strictNullable(),
    source: p.enum(runSources),
    subjectKind: p.enum(subjectKinds).strictNullable(),
    subjectId: p.text().strictNullable(),
    createdByKind: p.enum(creatorKinds),
    createdById: uuidColumn().strictNullable(),
    createdByActingUserId: uuidColumn().strictNullable(),
    status: p.enum(runStatuses).default('queued'),
    waitingOn: p.enum(waitingOn).strictNullable(),
    waitingUntil: timeColumn().strictNullable(),
    finishReason: p.enum(finishReasons).strictNullable(),
    turnNo: p.integer().strictNullable(),
    queueNo: p.integer().strictNullable(),
    input: p.json<RunInput>(),
    output: p.json<RunOutput>().strictNullable(),
    error: p.json<RunError>().strictNullable(),
    warnings: jsonColumn<{ code: string; message: string }[]>(() => []),
    limits: p.json<RunLimits>(),
    usageOwn: p.json<UsageTotals>(),
    usageSubtree: p.json<UsageTotals>(),
    steps: p.integer().default(0),
    depth: p.integer().default(0),
    pendingApprovals: p.integer().default(0),
    onBusy: p.enum(onBusyKinds).default('enqueue'),
    cancelPolicy: p.enum(cancelPolicies).strictNullable(),
    /** The run is cancelled to make room for another run of the same conversation. */
    isSuperseded: p.boolean().default(false),
    metadata: jsonColumn<Record<string, unknown>>(() => ({})),
    /** What beginRun pinned: versions of everything that the run uses, and its limits. */
    manifest: p.json<Manifest>().strictNullable(),
    /** Content from outside the tenant reached this run or an ancestor. */
    untrusted: p.boolean().default(false),
    /** How many deployments' hooks the run's cause has passed through. */
    hops: p.smallint().default(0),
    maxEffect: p.enum(['read', 'write'] as const).default('write'),
    activeMs: bigintColumn().default(0),
    /** Time spent waiting, excluding the currently open wait; max_duration_s does not count it. */
    waitedMs: bigintColumn().default(0),
    waitingSince: timeColumn().strictNullable(),
    hardDeadlineAt: timeColumn().strictNullable(),
    reconciledAt: timeColumn().strictNullable(),
    /** How often the run's workflow was restarted because Temporal had lost it. */
    workflowRestarts: p.integer().default(0),
    activatedAt: timeColumn().strictNullable(),
    startAfter: timeColumn().strictNullable(),
    startedAt: timeColumn().strictNullable(),
    cancelRequestedAt: timeColumn().strictNullable(),
    finishedAt: timeColumn().strictNullable(),
    deletedAt: timeColumn().strictNullable(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
  },
});

/** One turn of a conversation. Its status column is authoritative; Temporal only decides what happens next. */
export class Run extends schema.class {}
schema.setClass(Run);
