import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { type NotNull, sql } from 'kysely';
import { query } from '../../query.ts';
import { rows } from '../../sql.ts';

/** A workspace whose own App reviews repositories. Sweeper's pool, like everything here. */
export type AppWorkspace = Awaited<ReturnType<typeof workspacesWithApps>>[number];

/** Less than any id. */
const noId = '00000000-0000-0000-0000-000000000000';

/** Returns workspaces that reach a repository through their own App, and accept its deliveries. */
export function workspacesWithApps(em: SqlEntityManager, after: string | null, limit: number) {
  return rows(
    em,
    query
      .selectFrom('workspaces as w')
      .innerJoin('organizations as o', 'o.id', 'w.organizationId')
      .select(['w.organizationId', 'w.id as workspaceId'])
      .where('w.isActive', '=', sql.lit(true))
      .where('o.status', '=', 'active')
      .where('w.id', '>', after ?? noId)
      .where(({ exists, selectFrom }) =>
        exists(
          selectFrom('repo_bindings as b')
            .select('b.id')
            .whereRef('b.workspaceId', '=', 'w.id')
            .where('b.appKind', '=', 'workspace')
            .where('b.isActive', '=', sql.lit(true))
            .where('b.deletedAt', 'is', null),
        ),
      )
      .where(({ exists, selectFrom }) =>
        exists(
          selectFrom('webhook_endpoints as e')
            .select('e.id')
            .whereRef('e.workspaceId', '=', 'w.id')
            .where('e.eventKind', '=', 'github')
            .where('e.isActive', '=', sql.lit(true))
            .where('e.deletedAt', 'is', null),
        ),
      )
      .orderBy('w.id')
      .limit(limit),
  );
}

/** Returns those of the host's deliveries that one of our endpoints has accepted in the last days; `workspaceId` null: in any workspace. */
export async function takenDeliveries(
  em: SqlEntityManager,
  guids: readonly string[],
  workspaceId: string | null,
): Promise<ReadonlySet<string>> {
  if (guids.length === 0) return new Set();
  const taken = query
    .selectFrom('webhook_endpoints as e')
    .innerJoin('webhook_deliveries as d', 'd.endpointId', 'e.id')
    .select('d.deliveryKey as guid')
    .where('e.eventKind', '=', 'github')
    .where('d.status', '=', 'published')
    .where('d.receivedAt', '>', sql<string>`now() - interval '4 days'`)
    .where('d.deliveryKey', '=', sql<string>`any(${[...guids]}::text[])`)
    // It is one of the given ones.
    .$narrowType<{ guid: NotNull }>();
  const found = await rows(em, workspaceId === null ? taken : taken.where('e.workspaceId', '=', workspaceId));
  return new Set(found.map(({ guid }) => guid));
}

/** A pull request that has work to do. */
export type LostPull = Awaited<ReturnType<typeof lostPulls>>[number];

const anHourAgo = sql<string>`now() - interval '1 hour'`;
const queuedEvents = query.selectFrom('review_events as e').where('e.state', '=', sql.lit('queued')).where('e.createdAt', '<', anHourAgo);

/** Returns pull requests with an event or command that has waited for an hour, or a review due for as long, that no workflow has taken. */
export function lostPulls(em: SqlEntityManager, limit: number) {
  const ofEvents = queuedEvents
    .select(['e.bindingId', 'e.pullNumber', 'e.organizationId', 'e.workspaceId'])
    .where('e.pullNumber', 'is not', null)
    .$narrowType<{ pullNumber: NotNull }>();
  const due = query
    .selectFrom('review_pull_requests as p')
    .select(['p.bindingId', 'p.pullNumber', 'p.organizationId', 'p.workspaceId'])
    .where('p.dueAt', '<', anHourAgo);
  const ofCommands = query
    .selectFrom('review_commands as c')
    .innerJoin('review_pull_requests as p', 'p.id', 'c.pullRequestId')
    .select(['p.bindingId', 'p.pullNumber', 'p.organizationId', 'p.workspaceId'])
    .where('c.state', '=', sql.lit('queued'))
    .where('c.createdAt', '<', anHourAgo);
  return rows(
    em,
    query
      .selectFrom(ofEvents.unionAll(due).unionAll(ofCommands).as('x'))
      .select(['x.bindingId', 'x.pullNumber', 'x.organizationId', 'x.workspaceId'])
      .distinct()
      .limit(limit),
  );
}

/** Returns bindings with a report that has waited for an hour. */
export function lostBindings(em: SqlEntityManager, limit: number) {
  const ofBindings = queuedEvents.select(['e.bindingId as id', 'e.organizationId', 'e.workspaceId']).where('e.pullNumber', 'is', null);
  return rows(em, ofBindings.distinct().limit(limit));
}
