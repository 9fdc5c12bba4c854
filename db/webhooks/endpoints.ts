import { sql } from 'kysely';
import type { Condition } from '../condition.ts';
import { contains, preparedList } from '../page-query.ts';
import type { PageRequest } from '../page.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { visibleToSql, seen, visibleTo, type Scoped } from '../scope.ts';
import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { WebhookEndpoint } from './webhook-endpoint.entity.ts';

/** An endpoint as it is read, with the number of its accepted deliveries. */
export type WebhookEndpointRow = NonNullable<Awaited<ReturnType<typeof readEndpointRow>>>;

export interface EndpointFilters {
  readonly q?: string;
  readonly agentId?: string;
  /** Each is true or undefined: a prepared query only sees which are present. */
  readonly active?: true;
  readonly inactive?: true;
}

const callCount = sql<number>`coalesce((select sum(c.n)::int8 from endpoint_counters c where c.endpoint_id = e.id), 0)`;
const hasSecret = sql<boolean>`e.secrets_enc is not null`;
const overlapUntil = sql<string | null>`case when e.secret_overlap_until > now() then e.secret_overlap_until end`;

function selectEndpoints(visible: Condition) {
  return query
    .selectFrom('webhook_endpoints as e')
    .where('e.deletedAt', 'is', null)
    .where(visible)
    .select(['e.id', 'e.organizationId', 'e.workspaceId', 'e.agentId', 'e.slug', 'e.httpMethod', 'e.verification', 'e.promptTemplate'])
    .select(['e.inputTemplate', 'e.sessionKeyTemplate', 'e.personaSlugTemplate', 'e.subjectTemplate', 'e.responseMode', 'e.responsePath'])
    .select(['e.callbackUrl', 'e.eventKind', 'e.coalescing'])
    .select(['e.rateLimitPerMinute', 'e.unverifiedAck', 'e.isActive', 'e.version', 'e.createdAt'])
    .select([callCount.as('callCount'), hasSecret.as('hasSecret'), overlapUntil.as('overlapUntil')]);
}

const oneEndpoint = prepared(({ endpointId, visible }: ParametersOf<{ readonly endpointId: string; readonly visible: Condition }>) =>
  selectEndpoints(visible).where('e.id', '=', endpointId),
);

function readEndpointRow(ctx: Scoped, endpointId: string) {
  return row(ctx.em, oneEndpoint({ endpointId, visible: visibleToSql(ctx, WebhookEndpoint, 'e') }));
}

/** Returns one endpoint that the caller sees. Throws 404, or 403 where the caller's rank is below the floor. */
export async function readEndpoint(ctx: Scoped, endpointId: string): Promise<WebhookEndpointRow> {
  return seen(ctx, await readEndpointRow(ctx, endpointId));
}

const endpointList = preparedList(
  ({ q, agentId, active, inactive, visible }: ParametersOf<EndpointFilters & { readonly visible: Condition }>) => {
    let endpoints = selectEndpoints(visible);
    if (q) endpoints = endpoints.where(({ ref }) => contains(q, ref('e.slug')));
    if (agentId) endpoints = endpoints.where('e.agentId', '=', agentId);
    if (active) endpoints = endpoints.where('e.isActive', '=', sql.lit(true));
    if (inactive) endpoints = endpoints.where('e.isActive', '=', sql.lit(false));
    return endpoints;
  },
  [{ column: 'e.id', type: 'uuid', descending: true }],
);

/** Returns the endpoints that the caller sees, newest first. */
export function listEndpointRows(ctx: Scoped, filters: EndpointFilters, page: PageRequest) {
  return endpointList(ctx.em, { ...filters, visible: visibleTo(ctx, WebhookEndpoint, 'e') }, page);
}

/** Returns how many endpoints a workspace has. Requests count one after another, so that two at once can't both be the last. */
export async function countEndpoints(tx: Pick<TenantTransaction, 'em'>, workspaceId: string): Promise<number> {
  await row(tx.em, query.selectFrom('workspaces').where('id', '=', workspaceId).select('id').forNoKeyUpdate());
  const counted = await row(
    tx.em,
    query
      .selectFrom('webhook_endpoints')
      .where('workspaceId', '=', workspaceId)
      .where('deletedAt', 'is', null)
      .select(sql<number>`count(*)::int`.as('total')),
  );
  return counted?.total ?? 0;
}
