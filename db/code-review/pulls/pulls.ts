import type { ReviewConfig } from '../../../workflows/contracts/review/code-review.ts';
import type { EditorConfig, InstallationState } from '../../../workflows/contracts/review/pull-requests.ts';
import { newId } from '../../ids.ts';
import { change, queueStatement, row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { RunStatus } from '../../../workflows/contracts/runs/runs.ts';
import type { ReviewRequest } from '../../../workflows/contracts/review/pull-requests.ts';
import type { ReviewFacts } from './facts.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** The part of a binding that its pull requests need. */
export interface BindingState {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly repoFullName: string;
  readonly reviewerAgentId: string | null;
  readonly editorAgentId: string | null;
  readonly enabledEvents: readonly string[];
  readonly reviewConfig: ReviewConfig;
  readonly editorConfig: EditorConfig;
  /** It exists and is active, its installation gives access to the repository, and its workspace and organization are active. */
  readonly isReviewed: boolean;
  readonly installationState: InstallationState;
}

/** A pull request, locked. */
export interface PullState {
  readonly id: string;
  readonly bindingId: string;
  readonly pullNumber: number;
  readonly state: 'open' | 'closed';
  readonly isDraft: boolean;
  readonly isFork: boolean;
  readonly paused: boolean;
  readonly isBlockDismissed: boolean;
  /** The host's time of the newest applied event; null: there was none. */
  readonly heardAt: Date | null;
  readonly baseRef: string | null;
  readonly headSha: string | null;
  readonly lastHeadSha: string | null;
  readonly isDueFull: boolean;
  readonly round: number;
  /** Milliseconds until the requested review begins, by the database's clock, or until the reactions to a closed one are read; null: nothing is due. */
  readonly dueInMs: number | null;
}

/** An event for a pull request that has not been applied. */
export interface QueuedEvent {
  readonly id: string;
  readonly event: string;
  readonly action: string;
  readonly facts: ReviewFacts;
}

/** A run of a pull request that has not ended. */
export interface LiveReview {
  readonly id: string;
  readonly status: RunStatus;
  readonly headSha: string | null;
  readonly request: ReviewRequest;
  /** The text of the request. */
  readonly text: string | null;
}

/** Returns a binding by its id, even if it is deleted; null when there is none in the transaction's tenant. */
export function readBindingState(tx: Tx, bindingId: string): Promise<BindingState | null> {
  return row<BindingState>(
    tx.em,
    `select b.id, b.organization_id as "organizationId", b.workspace_id as "workspaceId", b.repo_full_name as "repoFullName", b.reviewer_agent_id as "reviewerAgentId",
            b.editor_agent_id as "editorAgentId", b.enabled_events as "enabledEvents", b.review_config as "reviewConfig", b.editor_config as "editorConfig",
            b.installation_state as "installationState",
            b.deleted_at is null and b.is_active and b.installation_state = 'ok' and w.is_active and o.status = 'active' as "isReviewed"
       from repo_bindings b join workspaces w on w.id = b.workspace_id join organizations o on o.id = b.organization_id where b.id = ?`,
    [bindingId],
  );
}

/** Locks a pull request; creates its row on the first event. */
export async function lockPull(tx: Tx, { id: bindingId, organizationId, workspaceId }: Place, pullNumber: number): Promise<PullState> {
  await queueStatement(
    tx.em,
    'insert into review_pull_requests (id, organization_id, workspace_id, binding_id, pull_number) values (?, ?, ?, ?, ?) on conflict do nothing',
    [newId(), organizationId, workspaceId, bindingId, pullNumber],
  );
  const locked = await row<PullState>(
    tx.em,
    `select p.id, p.binding_id as "bindingId", p.pull_number as "pullNumber", p.state, p.is_draft as "isDraft", p.is_fork as "isFork", p.paused,
            p.is_block_dismissed as "isBlockDismissed", p.heard_at as "heardAt", p.base_ref as "baseRef", p.head_sha as "headSha", p.last_head_sha as "lastHeadSha",
            p.is_due_full as "isDueFull", p.round, (extract(epoch from p.due_at - clock_timestamp()) * 1000)::float8 as "dueInMs"
       from review_pull_requests p where p.binding_id = ? and p.pull_number = ? for update`,
    [bindingId, pullNumber],
  );
  if (!locked) throw new Error('a pull request that was just written is gone');
  return locked;
}

type Place = Pick<BindingState, 'id' | 'organizationId' | 'workspaceId'>;

/** When the requested review begins. `debounced`: after `seconds` without a push, at the latest five minutes after the first push. */
export type DueChange = { readonly kind: 'keep' | 'none' | 'now' } | { readonly kind: 'debounced'; readonly seconds: number };

/** The changes that events make to a pull request. */
export type PullChange = Pick<
  PullState,
  'state' | 'isDraft' | 'isFork' | 'paused' | 'isBlockDismissed' | 'heardAt' | 'baseRef' | 'headSha' | 'isDueFull'
> & {
  readonly due: DueChange;
};

const longestWaitSeconds = 300;

/** Stores the changes of a locked pull request; returns the milliseconds until something of it is due. */
export async function storePull(tx: Tx, pullId: string, { due, ...kept }: PullChange): Promise<number | null> {
  const seconds = due.kind === 'debounced' ? due.seconds : 0;
  const stored = await row<{ dueInMs: number | null }>(
    tx.em,
    `update review_pull_requests set state = ?, is_draft = ?, is_fork = ?, paused = ?, is_block_dismissed = ?, heard_at = ?, base_ref = ?, head_sha = ?, is_due_full = ?,
            closed_at = case when ? = 'closed' then coalesce(closed_at, now()) end,
            due_since = case ? when 'none' then null when 'keep' then due_since else coalesce(due_since, now()) end,
            due_at = case ? when 'none' then null when 'keep' then due_at when 'now' then now()
              else least(now() + make_interval(secs => ?), coalesce(due_since, now()) + make_interval(secs => ${longestWaitSeconds})) end,
            updated_at = now()
      where id = ? returning (extract(epoch from due_at - clock_timestamp()) * 1000)::float8 as "dueInMs"`,
    [
      kept.state,
      kept.isDraft,
      kept.isFork,
      kept.paused,
      kept.isBlockDismissed,
      kept.heardAt,
      kept.baseRef,
      kept.headSha,
      kept.isDueFull,
      kept.state,
      due.kind,
      due.kind,
      seconds,
      pullId,
    ],
  );
  return stored?.dueInMs ?? null;
}

/** Returns at most `limit` queued events of a pull request, in order. */
export function queuedEvents(
  tx: Tx,
  { bindingId, pullNumber }: Pick<PullState, 'bindingId' | 'pullNumber'>,
  limit: number,
): Promise<QueuedEvent[]> {
  return rows<QueuedEvent>(
    tx.em,
    `select e.id, e.event, e.action, e.facts from review_events e where e.binding_id = ? and e.pull_number = ? and e.state = 'queued' order by e.id limit ?`,
    [bindingId, pullNumber, limit],
  );
}

/** Stores the outcome of events. What people wrote is removed from their facts. */
export async function settleEvents(
  tx: Tx,
  settled: readonly { readonly id: string; readonly state: 'applied' | 'ignored'; readonly reason: string | null }[],
): Promise<void> {
  if (settled.length === 0) return;
  await change(
    tx.em,
    `update review_events e set state = s.state, reason = s.reason, facts = e.facts #- '{comment,command,argument}'
       from jsonb_to_recordset(?::jsonb) as s(id uuid, state text, reason text) where e.id = s.id`,
    [JSON.stringify(settled)],
  );
}

/** Returns the runs of a pull request that have not ended, oldest first. */
export function liveReviews(tx: Tx, pullId: string): Promise<LiveReview[]> {
  return rows<LiveReview>(
    tx.em,
    `select r.id, r.status, r.review_head_sha as "headSha", r.review as request, r.input ->> 'text' as text from runs r
      where r.review_pull_request_id = ? and r.status in ('queued', 'running', 'waiting', 'cancelling') order by r.review_round`,
    [pullId],
  );
}

/** Takes the next round of a locked pull request. `answersDue`: its run is the review that was due. */
export async function takeRound(tx: Tx, pullId: string, answersDue: boolean): Promise<number> {
  // For a closed pull request, something else is due.
  const due = answersDue ? ", due_at = case when state = 'closed' then due_at end, due_since = null, is_due_full = false" : '';
  const taken = await row<{ round: number }>(
    tx.em,
    `update review_pull_requests set round = round + 1, updated_at = now()${due} where id = ? returning round`,
    [pullId],
  );
  if (!taken) throw new Error('a locked pull request is gone');
  return taken.round;
}

/**
 * Returns the revision by which a binding's pull requests are reviewed now: of the playbook that it names, otherwise of the default of workspace, organization
 * or platform.
 */
export async function currentRevision(tx: Tx, { organizationId, workspaceId, reviewConfig }: Omit<BindingState, 'id'>): Promise<string> {
  const found = await row<{ revisionId: string }>(
    tx.em,
    `select p.active_revision_id as "revisionId" from review_playbooks p
      where p.deleted_at is null and p.is_active and p.active_revision_id is not null
        and (p.scope = 'platform' or (p.organization_id = ?::uuid and (p.workspace_id is null or p.workspace_id = ?::uuid)))
        and (p.id = ?::uuid or p.is_default)
      order by p.id = ?::uuid desc nulls last, array_position(array['workspace', 'organization', 'platform'], p.scope::text) limit 1`,
    [organizationId, workspaceId, reviewConfig.playbook_id, reviewConfig.playbook_id],
  );
  if (!found) throw new Error('the deployment has no default playbook');
  return found.revisionId;
}
