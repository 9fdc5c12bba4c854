import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { liveRunStatuses } from '../../../workflows/contracts/runs/runs.ts';
import { amongRows, literals, now } from '../../expressions.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { change, row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { selectQueued, type QueuedEvent } from '../pulls/pulls.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** A binding as its events find it. */
export type LiveBinding = NonNullable<Awaited<ReturnType<typeof liveBinding>>>;
/** What the host reports about a binding. */
export type BindingEventState = Pick<LiveBinding, 'organizationId' | 'workspaceId' | 'installationState' | 'repoFullName'>;

const lockedBinding = prepared(({ bindingId }: ParametersOf<{ readonly bindingId: string }>) =>
  query
    .selectFrom('repo_bindings as b')
    .select(['b.id', 'b.organizationId', 'b.workspaceId', 'b.installationState', 'b.repoFullName', 'b.repoId'])
    .select(({ and, eb, ref }) =>
      and([eb('b.deletedAt', 'is', null), ref('b.isActive')])
        .$castTo<boolean>()
        .as('isReviewable'),
    )
    .where('b.id', '=', bindingId)
    .forUpdate(),
);

/** Returns a binding, locked, even if it is deleted; null when there is none in the transaction's tenant. */
export function liveBinding(tx: Tx, bindingId: string) {
  return row(tx.em, lockedBinding({ bindingId }));
}

const queuedOfBinding = prepared(({ bindingId, limit }: ParametersOf<{ readonly bindingId: string; readonly limit: number }>) =>
  selectQueued(bindingId).where('e.pullNumber', 'is', null).limit(limit),
);

/** Returns queued events of a binding that concern none of its pull requests, in order. */
export function queuedBindingEvents(tx: Tx, bindingId: string, limit: number): Promise<QueuedEvent[]> {
  return rows(tx.em, queuedOfBinding({ bindingId, limit }));
}

type StoredState = Pick<BindingEventState, 'installationState' | 'repoFullName'> & { readonly bindingId: string; readonly repoKey: string };

const storingState = prepared(({ bindingId, installationState, repoFullName, repoKey }: ParametersOf<StoredState>) =>
  query
    .updateTable('repo_bindings')
    .from(({ exists, selectFrom }) =>
      query
        .selectNoFrom(
          exists(
            selectFrom('repo_bindings as o')
              .innerJoin('repo_bindings as b', 'b.workspaceId', 'o.workspaceId')
              .select('o.id')
              .where('b.id', '=', bindingId)
              .whereRef('o.id', '<>', 'b.id')
              .where('o.repoKey', '=', repoKey)
              .where('o.deletedAt', 'is', null),
          ).as('isTaken'),
        )
        .as('t'),
    )
    .set(({ eb, ref }) => ({
      installationState,
      version: eb('version', '+', 1),
      updatedAt: now,
      repoFullName: sql<string>`case when ${ref('t.isTaken')} then ${ref('repo_bindings.repoFullName')} else ${repoFullName} end`,
      repoKey: sql<string>`case when ${ref('t.isTaken')} then ${ref('repo_bindings.repoKey')} else ${repoKey} end`,
    }))
    .where('repo_bindings.id', '=', bindingId),
);

/** Stores what the host reports. A name that another binding of the workspace has by now stays with that one. */
export async function storeBindingState(tx: Tx, bindingId: string, state: Omit<StoredState, 'bindingId'>): Promise<void> {
  const { installationState, repoFullName, repoKey } = state;
  await change(tx.em, storingState({ bindingId, installationState, repoFullName, repoKey }));
}

const openPullsOf = prepared(({ bindingId, limit }: ParametersOf<{ readonly bindingId: string; readonly limit: number }>) =>
  query
    .selectFrom('review_pull_requests as p')
    .select('p.pullNumber')
    .where('p.bindingId', '=', bindingId)
    .where(({ eb, exists, or, selectFrom }) =>
      or([
        eb('p.dueAt', 'is not', null),
        exists(
          selectFrom('runs as r')
            .select('r.id')
            .whereRef('r.reviewPullRequestId', '=', 'p.id')
            .where('r.status', 'in', literals(...liveRunStatuses)),
        ),
      ]),
    )
    .orderBy('p.pullNumber')
    .limit(limit),
);

/** Returns the numbers of the pull requests of a binding that have something due or a run at work. */
export async function openPulls(tx: Tx, bindingId: string, limit: number): Promise<number[]> {
  return (await rows(tx.em, openPullsOf({ bindingId, limit }))).map(({ pullNumber }) => pullNumber);
}

/** Deletes at most `limit` events older than 90 days; returns how many. Sweeper's pool. */
export function eraseReviewEvents(em: SqlEntityManager, limit: number): Promise<number> {
  const old = query
    .selectFrom('review_events as x')
    .where('x.createdAt', '<', sql<string>`now() - interval '90 days'`)
    .limit(limit);
  return change(em, query.deleteFrom('review_events').where(amongRows(old)));
}
