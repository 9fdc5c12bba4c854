import type { RunStatus, WaitingOn } from '../../workflows/contracts/runs/runs.ts';
import type { RevisionDocument } from '../agents/revisions/revision-document.ts';
import { upgradeDocument } from '../agents/revisions/upgrade-document.ts';
import { row, rows } from '../sql.ts';
import type { AttachmentPart } from '../streams/frame-parts.schema.ts';
import type { RunIdentity } from '../streams/frame-text.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { hasDelegates } from './children/delegates.ts';
import type { Manifest } from './start/manifest.ts';
import type { RunLimits, UsageTotals } from './run-types.ts';

/** A run's row as its activities see it, locked until the end of the transaction. */
export interface RunState {
  readonly id: string;
  readonly organization_id: string;
  readonly workspace_id: string;
  readonly agent_id: string;
  readonly agent_revision_id: string;
  readonly agent_slug: string;
  readonly conversation_id: string;
  readonly root_run_id: string;
  readonly parent_run_id: string | null;
  readonly parent_tool_call_id: string | null;
  /** Ids of the run's ancestors, root first. */
  readonly lineage: readonly string[];
  /** Slugs of the agents from the root to the run; empty for a root. */
  readonly path: readonly string[];
  readonly persona_slug: string | null;
  readonly session_key: string | null;
  readonly subject_kind: 'user' | 'guest' | null;
  readonly subject_id: string | null;
  readonly source: string;
  readonly trigger_id: string | null;
  /** The evaluation that the run is a case of, or works for as a sub-agent. */
  readonly evaluation_run_id: string | null;
  /** For a review, its binding and its pull request. */
  readonly binding_id: string | null;
  readonly review_pull_request_id: string | null;
  readonly created_by_kind: 'user' | 'service_key' | 'system';
  readonly created_by_id: string | null;
  readonly created_by_acting_user_id: string | null;
  readonly status: RunStatus;
  readonly cancel_policy: 'interrupt' | 'rollback' | null;
  readonly is_superseded: boolean;
  readonly waiting_on: WaitingOn | null;
  readonly waiting_until: string | null;
  readonly waiting_since: string | null;
  readonly waited_ms: number;
  readonly pending_approvals: number;
  readonly max_effect: 'read' | 'write';
  readonly untrusted: boolean;
  readonly retry_of_run_id: string | null;
  readonly turn_no: number | null;
  readonly depth: number;
  readonly steps: number;
  readonly input: { readonly text?: string; readonly json?: unknown; readonly attachments?: readonly AttachmentPart[] };
  readonly limits: RunLimits;
  readonly manifest: Manifest | null;
  readonly usage_own: UsageTotals;
  readonly usage_subtree: UsageTotals;
  readonly activated_at: string | null;
  readonly started_at: string | null;
  readonly hard_deadline_at: string | null;
  readonly start_after: string | null;
  /** A message waits in the run's conversation. Reliable only if the conversation was locked before. */
  readonly has_unread_input: boolean;
  /** The run's workspace is archived or its organization not active: no new work begins. */
  readonly is_frozen: boolean;
}

/** An expression: whether a message waits in the conversation of run `r`, including one left unread by an earlier run. */
const hasUnreadInput = `exists (select from run_inputs ui where ui.conversation_id = r.conversation_id and ui.read_at_step is null)`;

const columns = `r.id, r.organization_id, r.workspace_id, r.agent_id, r.agent_revision_id, r.agent_slug, r.conversation_id, r.root_run_id, r.parent_run_id,
  r.parent_tool_call_id, r.lineage, r.path, r.is_superseded, r.waiting_on, r.waiting_until, r.waiting_since, r.waited_ms, r.pending_approvals, r.max_effect,
  r.untrusted, r.retry_of_run_id,
  r.persona_slug, r.session_key, r.subject_kind, r.subject_id, r.source, r.trigger_id, r.evaluation_run_id, r.binding_id, r.review_pull_request_id, r.created_by_kind, r.created_by_id, r.created_by_acting_user_id,
  r.status, r.cancel_policy, r.turn_no, r.depth, r.steps, r.input, r.limits, r.manifest, r.usage_own, r.usage_subtree, r.activated_at, r.started_at, r.hard_deadline_at, r.start_after,
  ${hasUnreadInput} as has_unread_input, ${inactiveSql('r.workspace_id')} as is_frozen`;

/** Returns an expression: whether a workspace takes no more work. */
export function inactiveSql(workspaceId: string): string {
  return `exists (select from workspaces fw join organizations fo on fo.id = fw.organization_id where fw.id = ${workspaceId} and (not fw.is_active or fo.status <> 'active'))`;
}

/** Locks the run's row; returns null when it does not exist (purged or foreign). */
export function lockRun(tx: TenantTransaction, runId: string): Promise<RunState | null> {
  return row<RunState>(tx.em, `select ${columns} from runs r where r.id = ? and r.deleted_at is null for no key update`, [runId]);
}

/** Like `lockRun`, with the document of the run's revision. */
export async function lockRunWithDocument(
  tx: TenantTransaction,
  runId: string,
): Promise<(RunState & { readonly document: RevisionDocument }) | null> {
  const found = await row<RunState & { readonly document: RevisionDocument }>(
    tx.em,
    `select ${columns}, v.document from runs r join agent_revisions v on v.id = r.agent_revision_id where r.id = ? and r.deleted_at is null for no key update of r`,
    [runId],
  );
  return found ? { ...found, document: upgradeDocument(found.document) } : null;
}

/**
 * Locks a run and its ancestors by ascending id, as every change that reaches ancestors must: parents are older than their children. `ancestors` are root
 * first. Returns null when the run does not exist.
 */
export async function lockRunWithAncestors(
  tx: TenantTransaction,
  runId: string,
): Promise<{ readonly run: RunState; readonly ancestors: readonly RunState[] } | null> {
  const locked = await rows<RunState>(
    tx.em,
    `select ${columns} from runs r
      where r.deleted_at is null and (r.id = ? or r.id = any ((select s.lineage from runs s where s.id = ?)::uuid[])) order by r.id for no key update of r`,
    [runId, runId],
  );
  const run = locked.find(({ id }) => id === runId);
  return run ? { run, ancestors: locked.filter(({ id }) => id !== runId) } : null;
}

/**
 * Locks a run, those runs below it whose calls are named, and all ancestors of both, by ascending id. Calls of other runs are left out, and so is the run
 * when it does not exist.
 */
export function lockRunsOfCalls(tx: TenantTransaction, runId: string, toolCallIds: readonly string[]): Promise<RunState[]> {
  return rows<RunState>(
    tx.em,
    `with asked as (
       select s.id, s.lineage from runs s where s.id = ?
       union all select d.id, d.lineage from tool_calls c join runs d on d.id = c.run_id where c.id = any (?::uuid[]) and d.lineage @> array[?::uuid])
     select ${columns} from runs r
      where r.deleted_at is null and r.id = any (array(select a.id from asked a union all select unnest(a.lineage) from asked a))
      order by r.id for no key update of r`,
    [runId, [...toolCallIds], runId],
  );
}

/**
 * Locks runs with their live descendants and all ancestors of both, by ascending id, in one statement, for a change of many runs that reaches both down and
 * up. A second statement follows where runs may have been created below meanwhile. Runs that do not exist are left out. The ids are passed as one array:
 * under `in (select …)` PostgreSQL drops a row that it had to wait for, since it checks the row's new version against a join that returns the row only
 * once.
 */
export async function lockRunsWithTrees(tx: TenantTransaction, runIds: readonly string[]): Promise<RunState[]> {
  const locked = await rows<RunState>(
    tx.em,
    `with asked as (select id, root_run_id, lineage from runs where id = any (?::uuid[]) and deleted_at is null)
     select ${columns} from runs r
      where r.deleted_at is null and r.id = any (array(
        select a.id from asked a
        union all select unnest(a.lineage) from asked a
        union all select d.id from asked a join runs d on d.root_run_id = a.root_run_id
          where d.lineage @> array[a.id] and d.status in ('queued', 'running', 'waiting', 'cancelling')))
      order by r.id for no key update of r`,
    [[...runIds]],
  );
  if (!locked.some(({ manifest }) => hasDelegates(manifest))) return locked;
  return [...locked, ...(await lockMadeMeanwhile(tx, runIds, locked))].toSorted((left, right) => (left.id < right.id ? -1 : 1));
}

/**
 * Locks live runs that were created below these while their locks were awaited. A transaction that creates a run holds all runs above it, so none is added
 * after this.
 */
function lockMadeMeanwhile(tx: TenantTransaction, runIds: readonly string[], locked: readonly RunState[]): Promise<RunState[]> {
  return rows<RunState>(
    tx.em,
    `select ${columns} from runs r
      where r.root_run_id = any (?::uuid[]) and r.lineage && ?::uuid[] and r.status in ('queued', 'running', 'waiting', 'cancelling') and r.deleted_at is null
        and r.id <> all (?::uuid[])
      order by r.id for no key update of r`,
    [locked.map((run) => run.root_run_id), [...runIds], locked.map((run) => run.id)],
  );
}

/** Locks the live runs below a locked run by ascending id. None can be added meanwhile, because adding one requires the lock on the run's row. */
export function lockLiveDescendants(tx: TenantTransaction, run: Pick<RunState, 'id' | 'root_run_id'>): Promise<RunState[]> {
  return rows<RunState>(
    tx.em,
    `select ${columns} from runs r
      where r.root_run_id = ? and r.lineage @> array[?::uuid] and r.status in ('queued', 'running', 'waiting', 'cancelling') and r.deleted_at is null
      order by r.id for no key update of r`,
    [run.root_run_id, run.id],
  );
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
