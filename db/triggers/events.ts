import { newId } from '../ids.ts';
import { change, queueStatement } from '../sql.ts';
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { EventSource } from './event.entity.ts';

/** Something that has happened in a workspace. */
export interface NewEvent {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly eventKind: string;
  readonly source: EventSource;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly occurredAt: Date;
  /** The run that caused it; absent: none did. */
  readonly causeRunId?: string;
}

/**
 * Writes an event in the transaction of its cause and gives its id; leaves with the next statement. One that a run caused takes over the run's root and depth.
 * No trigger listens yet, so nothing is left to be done with it.
 */
export async function emitEvent(tx: TenantTransaction, event: NewEvent): Promise<string> {
  const id = newId();
  const cause = event.causeRunId ?? null;
  await queueStatement(
    tx.em,
    `insert into events (id, organization_id, workspace_id, event_kind, source, payload, depth, root_event_id, cause_run_id, fan_out, occurred_at)
     values (?, ?, ?, ?, ?, ?::jsonb, coalesce((select r.event_depth from runs r where r.id = ?::uuid), 0),
       coalesce((select r.root_event_id from runs r where r.id = ?::uuid), ?), ?, 'done', ?)`,
    [
      id,
      event.organizationId,
      event.workspaceId,
      event.eventKind,
      event.source,
      JSON.stringify(event.payload),
      cause,
      cause,
      id,
      cause,
      event.occurredAt,
    ],
  );
  return id;
}

/** Deletes at most `limit` events past 90 days; gives how many. Sweeper's pool. */
export function eraseEventsByAge(em: SqlEntityManager, limit: number): Promise<number> {
  return change(
    em,
    "delete from events where ctid = any (array(select x.ctid from events x where x.created_at < now() - interval '90 days' limit ?))",
    [limit],
  );
}
