import { newId } from '../ids.ts';
import { rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** A push of an editor that is about to leave, or has arrived. */
export interface EditorPush {
  readonly runId: string;
  readonly pullRequestId: string;
  readonly attempt: number;
  readonly commitSha: string;
}

/** Writes down that a push leaves now. */
export async function openPush(tx: TenantTransaction, { runId, attempt, commitSha }: EditorPush): Promise<void> {
  await rows(
    tx.em,
    `insert into review_posts (id, organization_id, workspace_id, owner_id, kind, ordinal, state, github_id, created_at, updated_at)
     select ?, r.organization_id, r.workspace_id, r.id, 'push', ?, 'sending', ?, now(), now() from runs r where r.id = ?
     on conflict (owner_id, kind, ordinal) do nothing`,
    [newId(), attempt, commitSha, runId],
  );
}

/** Says that a push has arrived; false: it was said before. */
export async function closePush(tx: TenantTransaction, { runId, attempt, commitSha }: EditorPush): Promise<boolean> {
  const closed = await rows(
    tx.em,
    `update review_posts set state = 'posted', github_id = ?, updated_at = now() where owner_id = ? and kind = 'push' and ordinal = ? and state = 'sending' returning id`,
    [commitSha, runId, attempt],
  );
  return closed.length > 0;
}

/** Counts a push among those that the pull request's editor has left. */
export async function countPush(tx: TenantTransaction, { pullRequestId }: Pick<EditorPush, 'pullRequestId'>): Promise<void> {
  await rows(tx.em, 'update review_pull_requests set editor_rounds = editor_rounds + 1, updated_at = now() where id = ?', [pullRequestId]);
}
