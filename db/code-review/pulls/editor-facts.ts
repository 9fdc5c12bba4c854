import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** The resources that a program in a binding's sandbox may use. */
export interface SandboxLimits {
  readonly memoryMb: number;
  readonly cpuMs: number;
}

/** Returns the limits of a tool that runs code, or null when it is deleted, inactive or of another kind. */
export function readSandboxLimits(tx: Pick<TenantTransaction, 'em'>, toolId: string): Promise<SandboxLimits | null> {
  return row<SandboxLimits>(
    tx.em,
    `select (t.config ->> 'memory_mb')::int as "memoryMb", (t.config ->> 'cpu_ms')::int as "cpuMs" from tools t
      where t.id = ? and t.kind = 'code_exec' and t.is_active and t.deleted_at is null`,
    [toolId],
  );
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
