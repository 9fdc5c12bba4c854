import { sql } from 'kysely';
import type { ChannelPartInput } from '../../workflows/contracts/triggers/channels.ts';
import { newId } from '../ids.ts';
import { query } from '../query.ts';
import { change, row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { ChannelOutbound } from './channel-outbound.entity.ts';
import type { AnsweredMessage } from './answered.ts';
import { partColumns, type PartRow } from './part-queries.ts';

/** A part to be stored. */
export interface PartText {
  readonly text: string;
  readonly rendered: string;
  /** It is sent as plain text. */
  readonly isPlain: boolean;
  /** For a file its number; for a text its position among the texts. */
  readonly part?: number;
}

export interface ReplyParts {
  readonly parts: readonly PartText[];
  /** A draft of which it is unknown whether it was sent is taken as not sent: its service can't be asked, and the answer must not be lost with it. */
  readonly forgetsLostDraft: boolean;
}

/** Returns one part, locked, or null when there is none. */
export function lockPart(tx: TenantTransaction, { messageId, kind, part }: ChannelPartInput): Promise<PartRow | null> {
  return row<PartRow>(
    tx.em,
    `select ${partColumns} from channel_outbound o where o.message_id = ? and o.kind = ? and o.part = ? for no key update`,
    [messageId, kind, part],
  );
}

/** Whether an earlier answer of the thread has not been sent yet. */
export async function isBehindAnother(tx: TenantTransaction, partId: string): Promise<boolean> {
  const found = await row(
    tx.em,
    `select 1 from channel_outbound o join channel_outbound e on e.channel_id = o.channel_id and e.thread_id = o.thread_id
      where o.id = ? and e.state in ('pending', 'sending') and e.message_id <> o.message_id
        and (e.state = 'pending' or e.text is not null) and (e.created_at, e.message_id) < (o.created_at, o.message_id) limit 1`,
    [partId],
  );
  return found !== null;
}

/**
 * Replaces the reserved row of an answer by its parts, once; without parts, deletes the row. The parts take the row's time, so that no other answer comes
 * between them. Returns false when it had its parts before.
 */
export async function writeReplyParts(tx: TenantTransaction, messageId: string, { parts, forgetsLostDraft }: ReplyParts): Promise<boolean> {
  const [first, ...others] = parts;
  const place = await row<{ id: string; created_at: string }>(
    tx.em,
    `select id, created_at from channel_outbound where message_id = ? and kind = 'reply' and part = 0 and text is null for update`,
    [messageId],
  );
  if (!place) return false;
  if (first === undefined) {
    await change(tx.em, 'delete from channel_outbound where id = ?', [place.id]);
    return true;
  }
  // A draft is, or may be, in the thread already: what is known of it stays.
  await change(
    tx.em,
    `update channel_outbound set text = ?, rendered = ?, is_plain = ?, state = case when state = 'sent' or ? then 'pending' else state end, updated_at = clock_timestamp() where id = ?`,
    [first.text, first.rendered, first.isPlain, forgetsLostDraft, place.id],
  );
  const more = others.map(({ text, rendered, isPlain, part }, at) => ({
    id: newId(),
    part: part ?? at + 1,
    text,
    rendered,
    is_plain: isPlain,
  }));
  if (more.length === 0) return true;
  await rows(
    tx.em,
    `insert into channel_outbound (id, organization_id, workspace_id, channel_id, message_id, run_id, thread_id, kind, part, text, rendered, is_plain, created_at, updated_at)
     select p.id, o.organization_id, o.workspace_id, o.channel_id, o.message_id, o.run_id, o.thread_id, 'reply', p.part, p.text, p.rendered, p.is_plain, o.created_at, clock_timestamp()
       from jsonb_to_recordset(?::jsonb) as p(id uuid, part int, text text, rendered text, is_plain boolean) cross join channel_outbound o where o.id = ?
     on conflict (message_id, kind, part) do nothing`,
    [JSON.stringify(more), place.id],
  );
  return true;
}

/** Stores a notice, once per message and number. If the answer's row exists, the notice takes its time. */
export async function writeNotice(
  tx: TenantTransaction,
  message: AnsweredMessage,
  { part, text, rendered, isPlain }: PartText & { readonly part: number },
): Promise<void> {
  await rows(
    tx.em,
    `insert into channel_outbound (id, organization_id, workspace_id, channel_id, message_id, run_id, thread_id, kind, part, text, rendered, is_plain, created_at, updated_at)
     values (?, ?, ?, ?, ?, ?, ?, 'notice', ?, ?, ?, ?,
       coalesce((select o.created_at from channel_outbound o where o.message_id = ? and o.kind = 'reply' and o.part = 0), clock_timestamp()), clock_timestamp())
     on conflict (message_id, kind, part) do nothing`,
    [
      newId(),
      message.organizationId,
      message.workspaceId,
      message.channelId,
      message.id,
      message.runId,
      message.threadId,
      part,
      text,
      rendered,
      isPlain,
      message.id,
    ],
  );
}

/** Counts a try of a locked part before it is made; returns the number of tries. */
export async function claimPart(tx: TenantTransaction, partId: string): Promise<number> {
  const claimed = await row<{ attempts: number }>(
    tx.em,
    `update channel_outbound set state = 'sending', attempts = attempts + 1, next_attempt_at = null, updated_at = clock_timestamp() where id = ? returning attempts`,
    [partId],
  );
  return claimed?.attempts ?? 0;
}

/** The outcome of a try of a part. */
export interface StoredPart {
  readonly state: ChannelOutbound['state'];
  readonly isPlain: boolean;
  readonly externalId: string | null;
  readonly failures: number;
  readonly lastError: string | null;
  readonly delayMs: number | null;
}

/** Stores the outcome of the `attempts`-th try. Returns false when a later try has overtaken it and nothing was stored. */
export async function storePart(
  tx: TenantTransaction,
  { id, attempts }: { readonly id: string; readonly attempts: number },
  tried: StoredPart,
): Promise<boolean> {
  const { delayMs, lastError, ...stored } = tried;
  const changed = await change(
    tx.em,
    query
      .updateTable('channel_outbound')
      .set({
        ...stored,
        lastError: lastError?.slice(0, 300) ?? null,
        nextAttemptAt: delayMs === null ? null : sql<string>`clock_timestamp() + make_interval(secs => ${delayMs / 1_000}::float8)`,
        updatedAt: sql<string>`clock_timestamp()`,
      })
      .where('id', '=', id)
      .where('attempts', '=', attempts)
      .where('state', '=', 'sending'),
  );
  return changed > 0;
}

/** Fails all parts that a channel has still to send. */
export async function failOpenParts(tx: TenantTransaction, channelId: string, reason: string): Promise<void> {
  await change(
    tx.em,
    `update channel_outbound set state = 'failed', last_error = ?, next_attempt_at = null, updated_at = clock_timestamp()
      where channel_id = ? and state in ('pending', 'sending')`,
    [reason, channelId],
  );
}

/** Stores whether a channel works; the version of the row stays, since no user has changed it. */
export async function storeChannelState(
  tx: TenantTransaction,
  channelId: string,
  { state, lastError }: { readonly state: 'ok' | 'error'; readonly lastError: string | null },
): Promise<void> {
  await change(
    tx.em,
    'update channels set state = ?, last_error = ? where id = ? and deleted_at is null and (state, last_error) is distinct from (?, ?)',
    [state, lastError?.slice(0, 300) ?? null, channelId, state, lastError?.slice(0, 300) ?? null],
  );
}

/** Adds a warning to a run that may have ended. */
export async function warnRun(tx: TenantTransaction, runId: string, message: string): Promise<void> {
  await change(
    tx.em,
    `update runs set warnings = warnings || ?::jsonb where id = ? and jsonb_array_length(warnings) < 20 and deleted_at is null`,
    [JSON.stringify([{ code: 'upstream_failed', message }]), runId],
  );
}
