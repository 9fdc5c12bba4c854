import type { ChannelPartKind } from '../../workflows/contracts/triggers/channels.ts';
import type { AttachmentPart } from '../streams/frame-parts.schema.ts';
import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { ChannelOutbound } from './channel-outbound.entity.ts';

/** A part with the columns that its delivery needs. */
export interface PartRow {
  readonly id: string;
  readonly kind: ChannelPartKind;
  readonly part: number;
  readonly text: string | null;
  readonly rendered: string | null;
  readonly state: ChannelOutbound['state'];
  readonly isPlain: boolean;
  readonly externalId: string | null;
  readonly attempts: number;
  readonly failures: number;
  readonly createdAt: string;
  /** Milliseconds until it may be tried; 0: now. */
  readonly waitMs: number;
}

export const partColumns = `o.id, o.kind, o.part, o.text, o.rendered, o.state, o.is_plain as "isPlain", o.external_id as "externalId", o.attempts, o.failures, o.created_at as "createdAt",
  greatest(0, ceil(extract(epoch from o.next_attempt_at - clock_timestamp()) * 1000))::int as "waitMs"`;

/** Returns the parts of an answer, in sending order. */
export function readParts(tx: Pick<TenantTransaction, 'em'>, messageId: string): Promise<PartRow[]> {
  return rows<PartRow>(
    tx.em,
    `select ${partColumns} from channel_outbound o where o.message_id = ? order by o.created_at, o.kind, o.part`,
    [messageId],
  );
}

/** A run as its thread is informed of it. */
export interface ToldRun {
  readonly id: string;
  readonly status: string;
  readonly output: { readonly text?: string | null; readonly json?: unknown; readonly attachments?: readonly AttachmentPart[] } | null;
  readonly errorCode: string | null;
  readonly waitingOn: string | null;
  /** Seconds since 1970. */
  readonly waitingSinceS: number | null;
  readonly hops: number;
}

/** Returns null when the run is deleted. */
export function readToldRun(tx: Pick<TenantTransaction, 'em'>, runId: string): Promise<ToldRun | null> {
  return row<ToldRun>(
    tx.em,
    `select id, status, output, error ->> 'code' as "errorCode", waiting_on as "waitingOn", floor(extract(epoch from waiting_since))::int as "waitingSinceS", hops
       from runs where id = ? and deleted_at is null`,
    [runId],
  );
}

/** A file of an answer in storage. */
export interface AnswerFile {
  readonly id: string;
  readonly storageKey: string;
  readonly state: string;
}

/** Returns the files that an answer names; deleted ones are omitted. */
export function readAnswerFiles(tx: Pick<TenantTransaction, 'em'>, ids: readonly string[]): Promise<AnswerFile[]> {
  return rows<AnswerFile>(tx.em, `select id, storage_key as "storageKey", state from attachments where id = any (?::uuid[])`, [[...ids]]);
}
