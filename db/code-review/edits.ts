import { newId } from '../ids.ts';
import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** What the sandbox of a binding lets a program use. */
export interface SandboxLimits {
  readonly memoryMb: number;
  readonly cpuMs: number;
}

/** Limits of a tool that runs code; null: it is gone, switched off or of another kind. */
export function readSandboxLimits(tx: Pick<TenantTransaction, 'em'>, toolId: string): Promise<SandboxLimits | null> {
  return row<SandboxLimits>(
    tx.em,
    `select (t.config ->> 'memory_mb')::int as "memoryMb", (t.config ->> 'cpu_ms')::int as "cpuMs" from tools t
      where t.id = ? and t.kind = 'code_exec' and t.is_active and t.deleted_at is null`,
    [toolId],
  );
}

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

/** Writes down that a push has arrived, once: it counts among those that the pull request's editor has left. */
export async function closePush(tx: TenantTransaction, { runId, pullRequestId, attempt, commitSha }: EditorPush): Promise<void> {
  const closed = await rows(
    tx.em,
    `update review_posts set state = 'posted', github_id = ?, updated_at = now() where owner_id = ? and kind = 'push' and ordinal = ? and state = 'sending' returning id`,
    [commitSha, runId, attempt],
  );
  if (closed.length === 0) return;
  await rows(tx.em, 'update review_pull_requests set editor_rounds = editor_rounds + 1, updated_at = now() where id = ?', [pullRequestId]);
}

/** The comment that asked for a run; null: none did. */
export interface AskingComment {
  readonly commentId: number;
  readonly kind: 'issue' | 'review';
  /** The comment of a thread that it answers. */
  readonly inReplyTo: number | null;
}

export function readAskingComment(tx: Pick<TenantTransaction, 'em'>, commandId: string): Promise<AskingComment | null> {
  return row<AskingComment>(
    tx.em,
    `select c.comment_id::float8 as "commentId", c.comment_kind as kind, c.in_reply_to::float8 as "inReplyTo" from review_commands c where c.id = ?`,
    [commandId],
  );
}
