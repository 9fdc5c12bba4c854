import { change, queueStatement, row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { SeenDelivery } from './deliveries.ts';
import type { DeliveryWarning, WebhookDeliveryStatus } from './webhook-delivery.entity.ts';
import type { HookMethod } from './webhook-endpoint.entity.ts';

/** The owner of a delivery and its tenant. */
export interface DeliveryPlace {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
}

/** A delivery as it is written. */
export interface NewDelivery {
  readonly id: string;
  readonly status: WebhookDeliveryStatus;
  readonly method: HookMethod;
  readonly verificationForm: string | null;
  readonly deliveryKey: string | null;
  readonly occurredAt: Date;
  readonly contentType: string | null;
  /** Null when the body is not stored. */
  readonly body: Buffer | null;
  readonly bodyBytes: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly runId: string | null;
  /** Absent: it emits no event. */
  readonly eventId?: string | null;
  /** Absent: nothing is coalesced. */
  readonly coalesceHash?: Buffer | null;
  /** Its run opens a window of its key. */
  readonly opensWindow?: boolean;
  /** How many hooks its cause came through before. */
  readonly hops: number;
  readonly replayOf: string | null;
  readonly warnings: readonly DeliveryWarning[];
  readonly error: { readonly code: string; readonly reason: string | null } | null;
  readonly responseStatus: number;
}

const keptHours = 24;
const shards = 16;

/** Stores a delivery of an endpoint. */
export async function insertDelivery(tx: TenantTransaction, endpoint: DeliveryPlace, delivery: NewDelivery): Promise<void> {
  await rows(
    tx.em,
    `insert into webhook_deliveries (id, organization_id, workspace_id, endpoint_id, status, method, verification_form, delivery_key, occurred_at, content_type,
       body, body_bytes, headers, query, run_id, event_id, coalesce_hash, closed_at, hops, replay_of, warnings, error_code, error_reason, response_status)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?::jsonb, ?::jsonb, ?, ?, ?, case when ? then clock_timestamp() end, ?, ?, ?::jsonb, ?, ?, ?)`,
    [
      delivery.id,
      endpoint.organizationId,
      endpoint.workspaceId,
      endpoint.id,
      delivery.status,
      delivery.method,
      delivery.verificationForm,
      delivery.deliveryKey,
      delivery.occurredAt,
      delivery.contentType,
      delivery.body,
      delivery.bodyBytes,
      JSON.stringify(delivery.headers),
      JSON.stringify(delivery.query),
      delivery.runId,
      delivery.eventId ?? null,
      delivery.coalesceHash ?? null,
      delivery.opensWindow ?? false,
      delivery.hops,
      delivery.replayOf,
      JSON.stringify(delivery.warnings),
      delivery.error?.code ?? null,
      delivery.error?.reason ?? null,
      delivery.responseStatus,
    ],
  );
}

/** Counts an accepted delivery of an endpoint, outside the endpoint's version. Goes with the next statement. */
export async function countDelivery(tx: TenantTransaction, endpoint: DeliveryPlace): Promise<void> {
  await queueStatement(
    tx.em,
    `insert into endpoint_counters (endpoint_id, shard, organization_id, workspace_id, n) values (?, ?, ?, ?, 1)
     on conflict (endpoint_id, shard) do update set n = endpoint_counters.n + 1`,
    [endpoint.id, Math.floor(Math.random() * shards), endpoint.organizationId, endpoint.workspaceId],
  );
}

/**
 * Reserves the digests of a delivery for 24 hours; a concurrent request with one of them waits for the end of this transaction. Returns false when another
 * delivery already has one of them; then none is reserved.
 */
export async function reserveDigests(
  tx: TenantTransaction,
  endpoint: DeliveryPlace,
  { deliveryId, digests }: { readonly deliveryId: string; readonly digests: readonly Buffer[] },
): Promise<boolean> {
  if (digests.length === 0) return true;
  // In one order for all, so that two deliveries with the same two digests never wait for each other.
  const taken = await rows(
    tx.em,
    `insert into delivery_keys (endpoint_id, digest, organization_id, workspace_id, delivery_id, expires_at)
     select ?, d.digest, ?, ?, ?, clock_timestamp() + interval '${keptHours} hours' from unnest(?::bytea[]) as d (digest) order by d.digest
     on conflict (endpoint_id, digest) do update set delivery_id = excluded.delivery_id, expires_at = excluded.expires_at
       where delivery_keys.expires_at <= clock_timestamp() returning digest`,
    [endpoint.id, endpoint.organizationId, endpoint.workspaceId, deliveryId, [...digests]],
  );
  if (taken.length === digests.length) return true;
  await releaseDigests(tx, endpoint.id, deliveryId);
  return false;
}

/** Releases the digests of a delivery: the next attempt of its sender counts. */
export async function releaseDigests(tx: TenantTransaction, endpointId: string, deliveryId: string): Promise<void> {
  await change(tx.em, 'delete from delivery_keys where endpoint_id = ? and delivery_id = ?', [endpointId, deliveryId]);
}

/** Counts a repeat of a delivery and returns the delivery, or null when it is deleted. */
export function countDuplicate(tx: TenantTransaction, deliveryId: string): Promise<SeenDelivery | null> {
  return row<SeenDelivery>(
    tx.em,
    `update webhook_deliveries set duplicate_count = duplicate_count + 1 where id = ?
     returning id, run_id as "runId", event_id as "eventId", coalesce_hash is not null and (closed_at is null or group_id is not null) as "isCoalesced", response_status as "responseStatus"`,
    [deliveryId],
  );
}

/** Adds a warning that was found after the reply. */
export async function addWarning(tx: TenantTransaction, deliveryId: string, warning: DeliveryWarning): Promise<void> {
  await change(tx.em, 'update webhook_deliveries set warnings = warnings || ?::jsonb where id = ?', [
    JSON.stringify([warning]),
    deliveryId,
  ]);
}
