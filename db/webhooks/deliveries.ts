import { sql, type SqlBool } from 'kysely';
import { fail } from '../../workflows/contracts/failure.ts';
import type { Condition } from '../condition.ts';
import { preparedList } from '../page-query.ts';
import type { PageRequest } from '../page.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { visibleTo, type Scoped } from '../scope.ts';
import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { CallbackStatus } from './outbound-callback.entity.ts';
import { WebhookDelivery, type WebhookDeliveryStatus } from './webhook-delivery.entity.ts';

/** The earlier delivery that answers a repeated request. `isCoalesced`: it waits or waited to become a run together with others. */
export type SeenDelivery = NonNullable<Awaited<ReturnType<typeof findSeen>>>;

/** Enough for the characters of a preview in UTF-8. */
const previewBytes = 8_000;

const seenDelivery = prepared(
  ({ endpointId, digests }: ParametersOf<{ readonly endpointId: string; readonly digests: readonly Buffer[] }>) =>
    query
      .selectFrom('delivery_keys as k')
      .innerJoin('webhook_deliveries as d', 'd.id', 'k.deliveryId')
      .where('k.endpointId', '=', endpointId)
      .where(sql<boolean>`k.digest = any (${digests}::bytea[])`)
      .where('k.expiresAt', '>', sql<string>`clock_timestamp()`)
      .select(['d.id', 'd.runId', 'd.eventId', 'd.responseStatus'])
      .select(sql<boolean>`d.coalesce_hash is not null and (d.closed_at is null or d.group_id is not null)`.as('isCoalesced'))
      .limit(1),
);

/** Returns the delivery of the last 24 hours that one of the digests belongs to. */
export function findSeen(tx: Pick<TenantTransaction, 'em'>, endpointId: string, digests: readonly Buffer[]) {
  return row(tx.em, seenDelivery({ endpointId, digests }));
}

/** A delivery as it is listed. */
export type WebhookDeliveryRow = Awaited<ReturnType<typeof listDeliveryRows>>['items'][number];

export interface DeliveryFilters {
  readonly status?: WebhookDeliveryStatus;
  readonly from?: string;
  readonly to?: string;
}

const preview = sql<Buffer | null>`substring(d.body from 1 for ${sql.lit(previewBytes)})`;

/** The callback of its run, which all deliveries of a group share. */
interface CallbackOfDelivery {
  readonly status: CallbackStatus;
  readonly attempts: number;
  readonly lastStatus: number | null;
  readonly nextAttemptAt: string | null;
}

const callback = sql<CallbackOfDelivery | null>`(select jsonb_build_object('status', c.status, 'attempts', c.attempts, 'lastStatus', c.last_status,
    'nextAttemptAt', c.next_attempt_at) from outbound_callbacks c where c.endpoint_id = d.endpoint_id and c.run_id = d.run_id)`;

function selectDeliveries(endpointId: ParametersOf<{ readonly endpointId: string }>['endpointId'], visible: Condition) {
  return query
    .selectFrom('webhook_deliveries as d')
    .where('d.endpointId', '=', endpointId)
    .where(visible)
    .select(['d.id', 'd.endpointId', 'd.status', 'd.method', 'd.verificationForm', 'd.deliveryKey', 'd.receivedAt', 'd.occurredAt'])
    .select(['d.contentType', 'd.bodyBytes', 'd.headers', 'd.query', 'd.runId', 'd.eventId', 'd.groupId', 'd.hops', 'd.replayOf'])
    .select(['d.duplicateCount', 'd.warnings', callback.as('callback')])
    .select(['d.errorCode', 'd.errorReason', 'd.responseStatus', preview.as('preview')]);
}

const deliveryList = preparedList(
  ({
    endpointId,
    status,
    from,
    to,
    visible,
  }: ParametersOf<DeliveryFilters & { readonly endpointId: string; readonly visible: Condition }>) => {
    let deliveries = selectDeliveries(endpointId, visible);
    if (status) deliveries = deliveries.where('d.status', '=', status);
    if (from) deliveries = deliveries.where(sql<SqlBool>`d.received_at >= ${from}::timestamptz`);
    if (to) deliveries = deliveries.where(sql<SqlBool>`d.received_at < ${to}::timestamptz`);
    return deliveries;
  },
  [{ column: 'd.id', type: 'uuid', descending: true }],
);

/** Returns the deliveries of an endpoint that the caller sees, newest first. */
export function listDeliveryRows(ctx: Scoped, endpointId: string, filters: DeliveryFilters, page: PageRequest) {
  return deliveryList(ctx.em, { ...filters, endpointId, visible: visibleTo(ctx, WebhookDelivery, 'd') }, page);
}

/** Returns one delivery of an endpoint, with its body. Throws 404. */
export async function readDelivery(ctx: Scoped, endpointId: string, deliveryId: string) {
  const found = await row(
    ctx.em,
    selectDeliveries(sql.val(endpointId), visibleTo(ctx, WebhookDelivery, 'd'))
      .where('d.id', '=', deliveryId)
      .select('d.body'),
  );
  if (!found) throw fail('not_found');
  return found;
}
