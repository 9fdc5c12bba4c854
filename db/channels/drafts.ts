import { newId } from '../ids.ts';
import { change, iso, row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { AnsweredMessage } from './answered.ts';
import type { DraftRow } from './draft-queries.ts';

/** Creates the row of a draft before it is sent. Returns null when the row exists already, or the run is not running. */
export async function claimDraft(
  tx: TenantTransaction,
  { id, runId, channelId, threadId, ...place }: AnsweredMessage,
): Promise<DraftRow | null> {
  const made = await row<{ id: string; createdAt: string }>(
    tx.em,
    `insert into channel_outbound (id, organization_id, workspace_id, channel_id, message_id, run_id, thread_id, kind, part, state, created_at, updated_at)
     select ?, ?, ?, ?, ?, r.id, ?, 'reply', 0, 'sending', clock_timestamp(), clock_timestamp() from runs r where r.id = ? and r.status = 'running'
     on conflict (message_id, kind, part) do nothing returning id, created_at as "createdAt"`,
    [newId(), place.organizationId, place.workspaceId, channelId, id, threadId, runId],
  );
  return made && { id: made.id, externalId: null, createdAt: new Date(iso(made.createdAt)) };
}

/** Leaves the draft of an answer as it is in its thread: what comes next is a separate message. A draft whose outcome is unknown stays open. */
export async function leaveDraft(tx: TenantTransaction, messageId: string): Promise<void> {
  await change(
    tx.em,
    `delete from channel_outbound o using runs r
      where o.message_id = ? and o.kind = 'reply' and o.part = 0 and o.text is null and o.state = 'sent' and r.id = o.run_id and r.status = 'waiting'`,
    [messageId],
  );
}

/** Stores the outcome of a draft; the row of one that was certainly not sent is deleted, unless the run has ended meanwhile. */
export async function storeDraft(
  tx: TenantTransaction,
  { id }: DraftRow,
  { state, externalId }: { readonly state: 'sent' | 'sending' | 'none'; readonly externalId: string | null },
): Promise<void> {
  if (state === 'none') {
    await change(
      tx.em,
      `update channel_outbound o set state = 'pending' from runs r where o.id = ? and o.text is null and r.id = o.run_id and r.status <> 'running'`,
      [id],
    );
    await change(
      tx.em,
      `delete from channel_outbound o using runs r where o.id = ? and o.text is null and r.id = o.run_id and r.status = 'running' and o.state = 'sending'`,
      [id],
    );
    return;
  }
  await change(
    tx.em,
    `update channel_outbound set state = ?, external_id = ?, updated_at = clock_timestamp() where id = ? and text is null`,
    [state, externalId, id],
  );
}
