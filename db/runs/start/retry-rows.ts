import type { RunStatus } from '../../../workflows/contracts/runs/runs.ts';
import type { RevisionLimits } from '../../agents/revisions/revision-limits.ts';
import { row, rows } from '../../sql.ts';
import type { AttachmentPart } from '../../streams/frame-parts.schema.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { RunLimits } from '../run-types.ts';
import type { RunInput } from '../read/run-view.ts';

/** A run that has ended; its conversation is locked. */
export interface EndedRun {
  readonly id: string;
  readonly workspace_id: string;
  readonly organization_id: string;
  readonly agent_id: string;
  readonly agent_revision_id: string;
  readonly conversation_id: string;
  readonly parent_run_id: string | null;
  readonly status: RunStatus;
  readonly turn_no: number | null;
  readonly session_key: string | null;
  readonly subject_kind: 'user' | 'guest' | null;
  readonly subject_id: string | null;
  readonly input: RunInput;
  readonly metadata: Record<string, unknown>;
  readonly root_event_id: string | null;
  readonly event_depth: number;
  readonly untrusted: boolean;
  readonly max_effect: 'read' | 'write';
  readonly hops: number;
  readonly limits: RunLimits;
  readonly revision_limits: Partial<RevisionLimits>;
  readonly binding_id: string | null;
  readonly has_agent: boolean;
  /** Null when the persona no longer exists or is inactive. */
  readonly persona_slug: string | null;
}

/** Returns a run as a retry needs it, or null when it does not exist. */
export function readEnded(tx: TenantTransaction, runId: string): Promise<EndedRun | null> {
  return row<EndedRun>(
    tx.em,
    `select r.id, r.organization_id, r.workspace_id, r.agent_id, r.agent_revision_id, r.conversation_id, r.parent_run_id, r.status, r.turn_no, r.session_key,
            r.subject_kind, r.subject_id, r.input, r.metadata, r.root_event_id, r.event_depth, r.untrusted, r.max_effect, r.hops, r.limits, v.document -> 'limits' as revision_limits, r.binding_id, a.deleted_at is null as has_agent,
            (select p.slug from personas p where p.agent_id = r.agent_id and p.slug = r.persona_slug and p.is_active and p.deleted_at is null) as persona_slug
       from runs r join agent_revisions v on v.id = r.agent_revision_id join agents a on a.id = r.agent_id
      where r.id = ? and r.deleted_at is null`,
    [runId],
  );
}

/** Returns whether anything came after the run's turn: a live run, or a run with a committed message. A delayed run has no turn yet and does not count. */
export async function hasMovedOn(tx: TenantTransaction, run: EndedRun): Promise<boolean> {
  const later = await row(
    tx.em,
    `select 1 from runs o
      where o.conversation_id = ? and o.id <> ? and o.deleted_at is null
        and ((o.status in ('queued', 'running', 'waiting', 'cancelling') and (o.status <> 'queued' or o.activated_at is not null or o.queue_no is not null))
          or (coalesce(o.turn_no > ?::int, o.id > ?::uuid) and exists (select from messages m where m.run_id = o.id and m.state = 'committed')))
      limit 1`,
    [run.conversation_id, run.id, run.turn_no, run.id],
  );
  return later !== null;
}

/** Returns the ids of files that are still usable. Files that the run had to omit are omitted again. */
export async function usableFiles(tx: TenantTransaction, parts: readonly AttachmentPart[]): Promise<string[]> {
  if (parts.length === 0) return [];
  const asked = parts.map((part) => part.attachment_id);
  const found = await rows<{ id: string }>(tx.em, `select a.id from attachments a where a.id = any (?::uuid[]) and a.state <> 'rejected'`, [
    asked,
  ]);
  const usable = new Set(found.map(({ id }) => id));
  return asked.filter((id) => usable.has(id));
}

/** Discards the committed messages of a run's turn, in its own conversation. */
export async function discardTurn(
  tx: TenantTransaction,
  { runId, conversationId }: { readonly runId: string; readonly conversationId: string },
): Promise<void> {
  await rows(
    tx.em,
    `update messages m set state = 'discarded' from runs o
      where o.id = ? and o.conversation_id = ? and m.run_id = o.id and m.turn = o.turn_no and m.state = 'committed'`,
    [runId, conversationId],
  );
}
