import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql, type AliasedExpression, type InferResult, type NotNull } from 'kysely';
import { query } from '../query.ts';
import { rows } from '../sql.ts';
import { coalescing, type GroupKey, type GroupTable } from './group-queries.ts';

/** A key of an endpoint or event trigger whose group should have closed a minute ago. */
export interface OverdueGroup extends GroupKey {
  readonly organizationId: string;
  readonly workspaceId: string;
}

const waitingDeliveries = query
  .selectFrom('webhook_deliveries as d')
  .innerJoin('webhook_endpoints as e', 'e.id', 'd.endpointId')
  .where('d.status', '=', coalescing)
  .select([
    'd.endpointId as ownerId',
    'd.organizationId',
    'd.workspaceId',
    'd.coalesceHash as hash',
    'd.receivedAt as cameAt',
    'e.coalescing',
  ]);
const waitingMatches = query
  .selectFrom('event_matches as d')
  .innerJoin('event_triggers as e', 'e.id', 'd.triggerId')
  .where('d.outcome', '=', coalescing)
  .select([
    'd.triggerId as ownerId',
    'd.organizationId',
    'd.workspaceId',
    'd.coalesceHash as hash',
    'd.createdAt as cameAt',
    'e.coalescing',
  ]);

type WaitingItem = InferResult<typeof waitingDeliveries>[number];
const waitingItems: Readonly<Record<GroupTable, AliasedExpression<WaitingItem, 'd'>>> = {
  webhook_deliveries: waitingDeliveries.as('d'),
  event_matches: waitingMatches.as('d'),
};

/** Returns at most `limit` keys of a table whose groups are 60 s overdue: the signal that should have closed them is lost. Sweeper's pool. */
export async function overdueGroups(em: SqlEntityManager, table: GroupTable, limit: number): Promise<OverdueGroup[]> {
  const found = await rows(
    em,
    query
      .selectFrom(waitingItems[table])
      .select(['d.ownerId', 'd.organizationId', 'd.workspaceId', 'd.hash'])
      .groupBy(['d.ownerId', 'd.organizationId', 'd.workspaceId', 'd.hash', 'd.coalescing'])
      .having(sql<boolean>`case when d.coalescing ->> 'mode' = 'debounce'
          then least(max(d.came_at) + make_interval(secs => (d.coalescing ->> 'windowSeconds')::int),
                     min(d.came_at) + make_interval(secs => (d.coalescing ->> 'maxWaitSeconds')::int))
          else min(d.came_at) + make_interval(secs => coalesce((d.coalescing ->> 'windowSeconds')::int, 0)) end < now() - interval '60 seconds'`)
      .limit(limit)
      // Only items with a key wait.
      .$narrowType<{ hash: NotNull }>(),
  );
  return found.map((group) => ({ ...group, table }));
}
