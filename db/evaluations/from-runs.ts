import { sql } from 'kysely';
import type { RunStatus } from '../../workflows/contracts/runs/runs.ts';
import { query } from '../query.ts';
import { Run } from '../runs/run.entity.ts';
import { visibleTo, type Scoped } from '../scope.ts';
import { rows } from '../sql.ts';

/** Which runs become items. */
export interface RunsAsked {
  readonly workspaceId: string;
  readonly agentId: string;
  /** Selected by votes, or by the runs themselves. */
  readonly source: 'feedback' | 'runs';
  readonly rating: 'up' | 'down' | null;
  readonly status: RunStatus | null;
  readonly from: string | null;
  readonly to: string | null;
  readonly limit: number;
}

/** A run as an item: its input, and the newest correction. */
export type RunAsItem = Awaited<ReturnType<typeof runsAsItems>>[number];

/**
 * Returns runs of an agent that the caller sees, newest first: ended root runs that belong to no evaluation; for `feedback` those with such a vote, newest vote
 * first. Omits purged runs and those whose input is neither text nor JSON.
 */
export function runsAsItems(ctx: Scoped, { workspaceId, agentId, source, rating, status, from, to, limit }: RunsAsked) {
  const time = source === 'feedback' ? sql<string>`v.at` : sql<string>`r.created_at`;
  let runs = query
    .selectFrom('runs as r')
    .where('r.workspaceId', '=', workspaceId)
    .where('r.agentId', '=', agentId)
    .where('r.deletedAt', 'is', null)
    .where('r.parentRunId', 'is', null)
    .where('r.source', '<>', 'evaluation')
    .where('r.finishedAt', 'is not', null)
    .where(sql<boolean>`(jsonb_exists(r.input, 'text') or jsonb_exists(r.input, 'json'))`)
    .where(visibleTo(ctx, Run, 'r'))
    .select(['r.id', sql<string | null>`r.input ->> 'text'`.as('text')])
    .select(sql<Record<string, unknown> | null>`nullif(r.input -> 'json', 'null')`.as('json'))
    .select(({ selectFrom }) =>
      selectFrom('feedback as f')
        .whereRef('f.runId', '=', 'r.id')
        .where('f.correction', 'is not', null)
        .select('f.correction')
        .orderBy('f.updatedAt', 'desc')
        .orderBy('f.id', 'desc')
        .limit(1)
        .as('correction'),
    )
    .orderBy(time, 'desc')
    .orderBy('r.id', 'desc')
    .limit(limit);
  if (status !== null) runs = runs.where('r.status', '=', status);
  if (from !== null) runs = runs.where(sql<boolean>`${time} >= ${from}::timestamptz`);
  if (to !== null) runs = runs.where(sql<boolean>`${time} < ${to}::timestamptz`);
  if (source === 'runs') return rows(ctx.em, runs);

  const voted = runs.innerJoinLateral(
    ({ selectFrom }) =>
      selectFrom('feedback as f')
        .whereRef('f.runId', '=', 'r.id')
        .$if(rating !== null, (of) => of.where('f.rating', '=', rating))
        .select(({ fn }) => fn.max('f.updatedAt').as('at'))
        .as('v'),
    (join) => join.on('v.at', 'is not', null),
  );
  return rows(ctx.em, voted);
}
