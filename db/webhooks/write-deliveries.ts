import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
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

/** A delivery in the form of its columns; `headers`, `query` and `warnings` are JSON. */
interface DeliveryColumns extends Omit<NewDelivery, 'headers' | 'query' | 'warnings' | 'error'> {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly endpointId: string;
  readonly headers: string;
  readonly query: string;
  readonly warnings: string;
  readonly errorCode: string | null;
  readonly errorReason: string | null;
  readonly eventId: string | null;
  readonly coalesceHash: Buffer | null;
  readonly opensWindow: boolean;
}

const inserting = prepared(({ headers, query: asked, warnings, opensWindow, ...delivery }: ParametersOf<DeliveryColumns>) =>
  query.insertInto('webhook_deliveries').values({
    ...delivery,
    headers: sql<Record<string, string>>`${headers}::jsonb`,
    query: sql<Record<string, string>>`${asked}::jsonb`,
    warnings: sql<DeliveryWarning[]>`${warnings}::jsonb`,
    groupId: null,
    closedAt: sql<string | null>`case when ${opensWindow}::boolean then clock_timestamp() end`,
  }),
);

/** Stores a delivery of an endpoint. */
export async function insertDelivery(tx: TenantTransaction, endpoint: DeliveryPlace, { error, ...delivery }: NewDelivery): Promise<void> {
  const { id: endpointId, organizationId, workspaceId } = endpoint;
  await change(
    tx.em,
    inserting({
      ...delivery,
      organizationId,
      workspaceId,
      endpointId,
      headers: JSON.stringify(delivery.headers),
      query: JSON.stringify(delivery.query),
      eventId: delivery.eventId ?? null,
      coalesceHash: delivery.coalesceHash ?? null,
      opensWindow: delivery.opensWindow ?? false,
      warnings: JSON.stringify(delivery.warnings),
      errorCode: error?.code ?? null,
      errorReason: error?.reason ?? null,
    }),
  );
}

interface CounterShard {
  readonly endpointId: string;
  readonly shard: number;
  readonly organizationId: string;
  readonly workspaceId: string;
}

const counting = prepared((counter: ParametersOf<CounterShard>) =>
  query
    .insertInto('endpoint_counters')
    .values({ ...counter, n: 1 })
    .onConflict((conflict) =>
      conflict.columns(['endpointId', 'shard']).doUpdateSet(({ eb }) => ({ n: eb('endpoint_counters.n', '+', 1) })),
    ),
);

/** Counts an accepted delivery of an endpoint, outside the endpoint's version. Goes with the next statement. */
export async function countDelivery(tx: TenantTransaction, { id: endpointId, organizationId, workspaceId }: DeliveryPlace): Promise<void> {
  const shard = Math.floor(Math.random() * shards);
  await queueStatement(tx.em, counting({ endpointId, shard, organizationId, workspaceId }));
}

interface NewDigests extends Omit<CounterShard, 'shard'> {
  readonly deliveryId: string;
  readonly digests: readonly Buffer[];
}

const reserving = prepared(({ endpointId, organizationId, workspaceId, deliveryId, digests }: ParametersOf<NewDigests>) =>
  query
    .insertInto('delivery_keys')
    .columns(['endpointId', 'digest', 'organizationId', 'workspaceId', 'deliveryId', 'expiresAt'])
    .expression(
      query
        .selectFrom(sql<{ digest: Buffer }>`unnest(${digests}::bytea[])`.as<'d'>(sql`d (digest)`))
        .select([sql<string>`${endpointId}::uuid`.as('endpointId'), 'd.digest', sql<string>`${organizationId}::uuid`.as('organizationId')])
        .select([sql<string>`${workspaceId}::uuid`.as('workspaceId'), sql<string>`${deliveryId}::uuid`.as('deliveryId')])
        .select(sql<string>`clock_timestamp() + make_interval(hours => ${sql.lit(keptHours)})`.as('expiresAt'))
        // In one order for all, so that two deliveries with the same two digests never wait for each other.
        .orderBy('d.digest'),
    )
    .onConflict((conflict) =>
      conflict
        .columns(['endpointId', 'digest'])
        .doUpdateSet(({ ref }) => ({ deliveryId: ref('excluded.deliveryId'), expiresAt: ref('excluded.expiresAt') }))
        .where('delivery_keys.expiresAt', '<=', sql<string>`clock_timestamp()`),
    )
    .returning('digest'),
);

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
  const { id: endpointId, organizationId, workspaceId } = endpoint;
  const taken = await rows(tx.em, reserving({ endpointId, organizationId, workspaceId, deliveryId, digests }));
  if (taken.length === digests.length) return true;
  await releaseDigests(tx, endpointId, deliveryId);
  return false;
}

const releasing = prepared(({ endpointId, deliveryId }: ParametersOf<{ readonly endpointId: string; readonly deliveryId: string }>) =>
  query.deleteFrom('delivery_keys').where('endpointId', '=', endpointId).where('deliveryId', '=', deliveryId),
);

/** Releases the digests of a delivery: the next attempt of its sender counts. */
export async function releaseDigests(tx: TenantTransaction, endpointId: string, deliveryId: string): Promise<void> {
  await change(tx.em, releasing({ endpointId, deliveryId }));
}

const countingDuplicate = prepared(({ deliveryId }: ParametersOf<{ readonly deliveryId: string }>) =>
  query
    .updateTable('webhook_deliveries')
    .set(({ eb }) => ({ duplicateCount: eb('duplicateCount', '+', 1) }))
    .where('id', '=', deliveryId)
    .returning(['id', 'runId', 'eventId', 'responseStatus'])
    .returning(sql<boolean>`coalesce_hash is not null and (closed_at is null or group_id is not null)`.as('isCoalesced')),
);

/** Counts a repeat of a delivery and returns the delivery, or null when it is deleted. */
export function countDuplicate(tx: TenantTransaction, deliveryId: string): Promise<SeenDelivery | null> {
  return row(tx.em, countingDuplicate({ deliveryId }));
}

/** Adds a warning that was found after the reply. */
export async function addWarning(tx: TenantTransaction, deliveryId: string, warning: DeliveryWarning): Promise<void> {
  const added = JSON.stringify([warning]);
  await change(
    tx.em,
    query
      .updateTable('webhook_deliveries')
      .set(({ ref }) => ({ warnings: sql<DeliveryWarning[]>`${ref('warnings')} || ${added}::jsonb` }))
      .where('id', '=', deliveryId),
  );
}
