import { sql, type QueryCreator, type SqlBool } from 'kysely';
import { upgradeDocument } from '../agents/revisions/upgrade-document.ts';
import { anyId } from '../expressions.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { row, rows } from '../sql.ts';
import type { RunIdentity } from '../streams/frame-text.ts';
import type { Tables } from '../table-types.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { hasDelegates } from './children/delegates.ts';
import { liveStatuses } from './live.ts';

/**
 * A run's row as its activities see it, locked until the end of the transaction. `has_unread_input`: a message waits in the run's conversation, including one
 * left unread by an earlier run; reliable only if the conversation was locked before. `is_frozen`: the run's workspace is archived or its organization not
 * active, so no new work begins.
 */
export type RunState = NonNullable<Awaited<ReturnType<typeof lockRun>>>;

function selectState(from: QueryCreator<Tables> = query) {
  return from
    .selectFrom('runs as r')
    .where('r.deletedAt', 'is', null)
    .select([
      'r.id',
      'r.organizationId as organization_id',
      'r.workspaceId as workspace_id',
      'r.agentId as agent_id',
      'r.status',
      'r.source',
    ])
    .select(['r.agentRevisionId as agent_revision_id', 'r.agentSlug as agent_slug', 'r.conversationId as conversation_id', 'r.path'])
    .select(['r.rootRunId as root_run_id', 'r.parentRunId as parent_run_id', 'r.parentToolCallId as parent_tool_call_id', 'r.lineage'])
    .select(['r.personaSlug as persona_slug', 'r.sessionKey as session_key', 'r.subjectKind as subject_kind', 'r.subjectId as subject_id'])
    .select(['r.triggerId as trigger_id', 'r.evaluationRunId as evaluation_run_id', 'r.bindingId as binding_id', 'r.depth', 'r.steps'])
    .select(['r.reviewPullRequestId as review_pull_request_id', 'r.createdByKind as created_by_kind', 'r.createdById as created_by_id'])
    .select(['r.createdByActingUserId as created_by_acting_user_id', 'r.cancelPolicy as cancel_policy', 'r.isSuperseded as is_superseded'])
    .select(['r.waitingOn as waiting_on', 'r.waitingUntil as waiting_until', 'r.waitingSince as waiting_since', 'r.waitedMs as waited_ms'])
    .select([
      'r.pendingApprovals as pending_approvals',
      'r.maxEffect as max_effect',
      'r.untrusted',
      'r.retryOfRunId as retry_of_run_id',
      'r.trace',
    ])
    .select(['r.turnNo as turn_no', 'r.input', 'r.limits', 'r.manifest', 'r.usageOwn as usage_own', 'r.usageSubtree as usage_subtree'])
    .select([
      'r.activatedAt as activated_at',
      'r.startedAt as started_at',
      'r.hardDeadlineAt as hard_deadline_at',
      'r.startAfter as start_after',
    ])
    .select(({ exists, selectFrom }) =>
      exists(
        selectFrom('run_inputs as i')
          .select('i.id')
          .whereRef('i.conversationId', '=', 'r.conversationId')
          .where('i.readAtStep', 'is', null),
      )
        .$castTo<boolean>()
        .as('has_unread_input'),
    )
    .select(sql.raw<boolean>(inactiveSql('r.workspace_id')).as('is_frozen'))
    .forNoKeyUpdate('r');
}

/** Returns an expression: whether a workspace takes no more work. */
export function inactiveSql(workspaceId: string): string {
  return `exists (select from workspaces fw join organizations fo on fo.id = fw.organization_id where fw.id = ${workspaceId} and (not fw.is_active or fo.status <> 'active'))`;
}

const oneRun = prepared(({ runId }: ParametersOf<{ readonly runId: string }>) => selectState().where('r.id', '=', runId));

/** Locks the run's row; returns null when it does not exist (purged or foreign). */
export function lockRun(tx: TenantTransaction, runId: string) {
  return row(tx.em, oneRun({ runId }));
}

const runWithDocument = prepared(({ runId }: ParametersOf<{ readonly runId: string }>) =>
  selectState().innerJoin('agent_revisions as v', 'v.id', 'r.agentRevisionId').select('v.document').where('r.id', '=', runId),
);

/** Like `lockRun`, with the document of the run's revision. */
export async function lockRunWithDocument(tx: TenantTransaction, runId: string) {
  const found = await row(tx.em, runWithDocument({ runId }));
  return found && { ...found, document: upgradeDocument(found.document) };
}

const runWithAncestors = prepared(({ runId }: ParametersOf<{ readonly runId: string }>) => {
  const lineage = query.selectFrom('runs as s').select('s.lineage').where('s.id', '=', runId);
  return selectState()
    .where(({ eb, or }) => or([eb('r.id', '=', runId), eb('r.id', '=', sql<string>`any (${lineage}::uuid[])`)]))
    .orderBy('r.id');
});

/**
 * Locks a run and its ancestors by ascending id, as every change that reaches ancestors must: parents are older than their children. `ancestors` are root
 * first. Returns null when the run does not exist.
 */
export async function lockRunWithAncestors(
  tx: TenantTransaction,
  runId: string,
): Promise<{ readonly run: RunState; readonly ancestors: readonly RunState[] } | null> {
  const locked = await rows(tx.em, runWithAncestors({ runId }));
  const run = locked.find(({ id }) => id === runId);
  return run ? { run, ancestors: locked.filter(({ id }) => id !== runId) } : null;
}

const runsOfCalls = prepared(
  ({ runId, toolCallIds }: ParametersOf<{ readonly runId: string; readonly toolCallIds: readonly string[] }>) => {
    const asked = query.with('asked', (of) =>
      of
        .selectFrom('runs as s')
        .select(['s.id', 's.lineage'])
        .where('s.id', '=', runId)
        .unionAll(
          of
            .selectFrom('tool_calls as c')
            .innerJoin('runs as d', 'd.id', 'c.runId')
            .select(['d.id', 'd.lineage'])
            .where('c.id', '=', anyId(toolCallIds))
            .where(sql<SqlBool>`d.lineage @> array[${runId}::uuid]`),
        ),
    );
    return selectState(asked)
      .where('r.id', '=', sql<string>`any (array(select a.id from asked a union all select unnest(a.lineage) from asked a))`)
      .orderBy('r.id');
  },
);

/**
 * Locks a run, those runs below it whose calls are named, and all ancestors of both, by ascending id. Calls of other runs are left out, and so is the run
 * when it does not exist.
 */
export function lockRunsOfCalls(tx: TenantTransaction, runId: string, toolCallIds: readonly string[]): Promise<RunState[]> {
  return rows(tx.em, runsOfCalls({ runId, toolCallIds: [...toolCallIds] }));
}

const runsWithTrees = prepared(({ runIds }: ParametersOf<{ readonly runIds: readonly string[] }>) => {
  const asked = query.with('asked', (of) =>
    of.selectFrom('runs').select(['id', 'rootRunId', 'lineage']).where('id', '=', anyId(runIds)).where('deletedAt', 'is', null),
  );
  const ids = sql<string>`any (array(
    select a.id from asked a
    union all select unnest(a.lineage) from asked a
    union all select d.id from asked a join runs d on d.root_run_id = a.root_run_id
      where d.lineage @> array[a.id] and d.status in (${sql.join(liveStatuses)})))`;
  return selectState(asked).where('r.id', '=', ids).orderBy('r.id');
});

/**
 * Locks runs with their live descendants and all ancestors of both, by ascending id, in one statement, for a change of many runs that reaches both down and
 * up. A second statement follows where runs may have been created below meanwhile. Runs that do not exist are left out. The ids are passed as one array:
 * under `in (select …)` PostgreSQL drops a row that it had to wait for, since it checks the row's new version against a join that returns the row only
 * once.
 */
export async function lockRunsWithTrees(tx: TenantTransaction, runIds: readonly string[]): Promise<RunState[]> {
  const locked = await rows(tx.em, runsWithTrees({ runIds: [...runIds] }));
  if (!locked.some(({ manifest }) => hasDelegates(manifest))) return locked;
  return [...locked, ...(await lockMadeMeanwhile(tx, runIds, locked))].toSorted((left, right) => (left.id < right.id ? -1 : 1));
}

interface Meanwhile {
  readonly rootRunIds: readonly string[];
  readonly runIds: readonly string[];
  readonly lockedIds: readonly string[];
}

const madeMeanwhile = prepared(({ rootRunIds, runIds, lockedIds }: ParametersOf<Meanwhile>) =>
  selectState()
    .where('r.rootRunId', '=', anyId(rootRunIds))
    .where(sql<SqlBool>`r.lineage && ${runIds}::uuid[]`)
    .where('r.status', 'in', liveStatuses)
    .where('r.id', '<>', sql<string>`all (${lockedIds}::uuid[])`)
    .orderBy('r.id'),
);

/**
 * Locks live runs that were created below these while their locks were awaited. A transaction that creates a run holds all runs above it, so none is added
 * after this.
 */
function lockMadeMeanwhile(tx: TenantTransaction, runIds: readonly string[], locked: readonly RunState[]): Promise<RunState[]> {
  const rootRunIds = locked.map((run) => run.root_run_id);
  return rows(tx.em, madeMeanwhile({ rootRunIds, runIds: [...runIds], lockedIds: locked.map((run) => run.id) }));
}

const liveDescendants = prepared(({ runId, rootRunId }: ParametersOf<{ readonly runId: string; readonly rootRunId: string }>) =>
  selectState()
    .where('r.rootRunId', '=', rootRunId)
    .where(sql<SqlBool>`r.lineage @> array[${runId}::uuid]`)
    .where('r.status', 'in', liveStatuses)
    .orderBy('r.id'),
);

/** Locks the live runs below a locked run by ascending id. None can be added meanwhile, because adding one requires the lock on the run's row. */
export function lockLiveDescendants(tx: TenantTransaction, run: Pick<RunState, 'id' | 'root_run_id'>): Promise<RunState[]> {
  return rows(tx.em, liveDescendants({ runId: run.id, rootRunId: run.root_run_id }));
}

/** Returns the slugs of the agents from the root to a run. */
export function pathOf({ path, agent_slug: slug }: { readonly path: readonly string[]; readonly agent_slug: string }): readonly string[] {
  return path.length === 0 ? [slug] : path;
}

/** The run identity that the run's frames carry. */
export function identityOf(run: RunState): RunIdentity {
  return {
    runId: run.id,
    rootRunId: run.root_run_id,
    parentRunId: run.parent_run_id,
    organizationId: run.organization_id,
    workspaceId: run.workspace_id,
    path: pathOf(run),
  };
}

/** Returns how many milliseconds the run may still take: its maximum duration since the start, not counting waits, within its hard deadline; never below 0. */
export function remainingMs(run: RunState, now: Date): number {
  const started = run.started_at === null ? now.getTime() : new Date(run.started_at).getTime();
  const waiting = run.waiting_since === null ? 0 : now.getTime() - new Date(run.waiting_since).getTime();
  const end = started + run.limits.max_duration_s * 1_000 + run.waited_ms + waiting;
  const hardEnd = run.hard_deadline_at === null ? end : new Date(run.hard_deadline_at).getTime();
  return Math.max(0, Math.min(end, hardEnd) - now.getTime());
}
