import type { RunStatus } from '../../workflows/contracts/runs.ts';
import type { RevisionDocument } from '../agents/revision-document.ts';
import { upgradeDocument } from '../agents/upgrade-document.ts';
import { row } from '../sql.ts';
import type { AttachmentPart } from '../streams/frame-parts.schema.ts';
import type { RunIdentity } from '../streams/frame-text.ts';
import type { Unit } from '../unit.ts';
import type { Manifest } from './manifest.ts';
import type { RunLimits, UsageTotals } from './run-types.ts';

/** A run's row as its activities see it, locked to the end of the transaction. */
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
  readonly persona_slug: string | null;
  readonly session_key: string | null;
  readonly subject_kind: 'user' | 'guest' | null;
  readonly subject_id: string | null;
  readonly source: string;
  readonly trigger_id: string | null;
  readonly created_by_kind: string;
  readonly created_by_id: string | null;
  readonly created_by_acting_user_id: string | null;
  readonly status: RunStatus;
  readonly cancel_policy: 'interrupt' | 'rollback' | null;
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
  /** Its workspace is archived or its organization not active: no new work is begun. */
  readonly is_frozen: boolean;
}

const columns = `r.id, r.organization_id, r.workspace_id, r.agent_id, r.agent_revision_id, r.agent_slug, r.conversation_id, r.root_run_id, r.parent_run_id,
  r.persona_slug, r.session_key, r.subject_kind, r.subject_id, r.source, r.trigger_id, r.created_by_kind, r.created_by_id, r.created_by_acting_user_id,
  r.status, r.cancel_policy, r.turn_no, r.depth, r.steps, r.input, r.limits, r.manifest, r.usage_own, r.usage_subtree, r.activated_at, r.started_at, r.hard_deadline_at,
  ${frozenSql('r.workspace_id')} as is_frozen`;

/** Whether a workspace takes no more work, as an expression. */
export function frozenSql(workspaceId: string): string {
  return `exists (select from workspaces fw join organizations fo on fo.id = fw.organization_id where fw.id = ${workspaceId} and (not fw.is_active or fo.status <> 'active'))`;
}

/** Locks the run's row; null when it is not there (purged or foreign). */
export function lockRun(unit: Unit, runId: string): Promise<RunState | null> {
  return row<RunState>(unit.em, `select ${columns} from runs r where r.id = ? and r.deleted_at is null for no key update`, [runId]);
}

/** The same with the document of the run's revision. */
export async function lockRunWithDocument(unit: Unit, runId: string): Promise<(RunState & { readonly document: RevisionDocument }) | null> {
  const found = await row<RunState & { readonly document: RevisionDocument }>(
    unit.em,
    `select ${columns}, v.document from runs r join agent_revisions v on v.id = r.agent_revision_id where r.id = ? and r.deleted_at is null for no key update of r`,
    [runId],
  );
  return found ? { ...found, document: upgradeDocument(found.document) } : null;
}

/** Who speaks in the run's frames. */
export function identityOf(run: RunState): RunIdentity {
  return {
    runId: run.id,
    rootRunId: run.root_run_id,
    parentRunId: run.parent_run_id,
    organizationId: run.organization_id,
    workspaceId: run.workspace_id,
    path: [run.agent_slug],
  };
}

/** Milliseconds the run may still take: its duration since the start, within its hard deadline; never below 0. */
export function remainingMs(run: RunState, now: Date): number {
  const started = run.started_at === null ? now.getTime() : new Date(run.started_at).getTime();
  const end = started + run.limits.max_duration_s * 1_000;
  const hardEnd = run.hard_deadline_at === null ? end : new Date(run.hard_deadline_at).getTime();
  return Math.max(0, Math.min(end, hardEnd) - now.getTime());
}
