import { createHash } from 'node:crypto';
import { reserveEventKey } from '../../db/events/event-keys.ts';
import { newId } from '../../db/ids.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { emitEvent } from '../../db/triggers/events.ts';
import { refuseKind } from '../triggers/kinds.ts';

/** An event that a caller publishes. */
export interface PublishedEvent {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly eventKind: string;
  readonly subject: string | null;
  readonly payload: Readonly<Record<string, unknown>>;
  /** The key by which a repeat is recognised for 24 hours; null: each event counts. */
  readonly dedupeKey: string | null;
  readonly occurredAt: Date;
  /** The run whose tool publishes it, as its request says; counts only if the run lies in the workspace. */
  readonly causeRunId: string | null;
}

/**
 * Publishes an event, and returns its id: of equal events under one `dedupe_key` the first one's, whatever process receives them. Throws 422 for a kind that is
 * invalid or one of the platform's own.
 */
export async function publishEvent(
  tx: TenantTransaction,
  event: PublishedEvent,
): Promise<{ readonly id: string; readonly isDuplicate: boolean }> {
  refuseKind(event.eventKind);
  const id = newId();
  if (event.dedupeKey !== null) {
    const digest = createHash('sha256').update(event.dedupeKey).digest();
    const first = await reserveEventKey(tx, event, { eventId: id, digest });
    if (first !== null) return { id: first, isDuplicate: true };
  }
  await emitEvent(tx, { ...event, id, source: 'api', untrusted: true });
  return { id, isDuplicate: false };
}
