import { type NotNull, sql } from 'kysely';
import type { Condition } from '../condition.ts';
import type { Page, PageRequest } from '../page.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { visibleTo, type Scoped } from '../scope.ts';
import { rows } from '../sql.ts';
import { Feedback, type Rating } from './feedback.entity.ts';

/** The counted votes on one revision of an agent. */
export type FeedbackGroup = Omit<Awaited<ReturnType<typeof listFeedbackGroups>>['items'][number], 'groups'>;

export interface FeedbackFilters {
  readonly agentId?: string;
  readonly rating?: Rating;
  /** Bounds of the vote's time, which is its last change: from ≤ time < to. */
  readonly from?: string;
  readonly to?: string;
}

type GroupArguments = FeedbackFilters & { readonly visible: Condition; readonly limit: number; readonly offset: number };

const groupsOf = prepared((p: ParametersOf<GroupArguments>) =>
  query
    .with(
      (cte) => cte('groups').materialized(),
      () => countedVotes(p),
    )
    .selectFrom((eb) =>
      eb
        .selectFrom('groups')
        .select(sql<number>`count(*)::int`.as('groups'))
        .as('n'),
    )
    .leftJoinLateral(
      (eb) =>
        eb
          .selectFrom('groups as g')
          .select(['g.agentId', 'g.agentRevisionId', 'g.total', 'g.up', 'g.down', 'g.comments', 'g.corrections', 'g.firstAt', 'g.lastAt'])
          .orderBy('g.total', 'desc')
          .orderBy('g.agentId')
          .orderBy('g.agentRevisionId')
          .limit(p.limit)
          .offset(p.offset)
          .as('p'),
      (join) => join.onTrue(),
    )
    .leftJoin('agent_revisions as v', (join) => join.onRef('v.id', '=', 'p.agentRevisionId').onRef('v.agentId', '=', 'p.agentId'))
    .select(['n.groups', 'p.agentId', 'p.agentRevisionId', 'v.number as revisionNumber', 'p.up', 'p.down', 'p.comments', 'p.corrections'])
    .select(['p.firstAt', 'p.lastAt'])
    .orderBy('p.total', 'desc')
    .orderBy('p.agentId')
    .orderBy('p.agentRevisionId')
    // Null only in the one row that carries the number of groups for an empty page, which is filtered out.
    .$narrowType<{
      agentId: NotNull;
      up: NotNull;
      down: NotNull;
      comments: NotNull;
      corrections: NotNull;
      firstAt: NotNull;
      lastAt: NotNull;
    }>(),
);

function countedVotes({ visible, agentId, rating, from, to }: ParametersOf<GroupArguments>) {
  let votes = query.selectFrom('feedback as f').where(visible);
  if (agentId) votes = votes.where('f.agentId', '=', agentId);
  if (rating) votes = votes.where('f.rating', '=', rating);
  if (from) votes = votes.where('f.updatedAt', '>=', from);
  if (to) votes = votes.where('f.updatedAt', '<', to);
  return votes
    .select(({ fn }) => [
      'f.agentId',
      'f.agentRevisionId',
      fn.countAll<number>().as('total'),
      fn.countAll<number>().filterWhere('f.rating', '=', 'up').as('up'),
      fn.countAll<number>().filterWhere('f.rating', '=', 'down').as('down'),
      fn.count<number>('f.comment').as('comments'),
      fn.count<number>('f.correction').as('corrections'),
      fn.min('f.updatedAt').as('firstAt'),
      fn.max('f.updatedAt').as('lastAt'),
    ])
    .groupBy(['f.agentId', 'f.agentRevisionId']);
}

/** Returns the votes that the caller sees by agent and revision, those with most votes first, and the number of groups. One query. */
export async function listFeedbackGroups(ctx: Scoped, filters: FeedbackFilters, page: PageRequest) {
  const visible = visibleTo(ctx, Feedback, 'f');
  const found = await rows(ctx.em, groupsOf({ ...filters, visible, limit: page.limit, offset: page.offset ?? 0 }));
  return { items: found.filter((group) => group.agentId !== null), next: null, total: found[0]?.groups ?? 0 } satisfies Page<unknown>;
}
