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
  readonly status: string | null;
  readonly from: string | null;
  readonly to: string | null;
  readonly limit: number;
}

/** A run as an item: its input, and the newest correction. */
export interface RunAsItem {
  readonly id: string;
  readonly text: string | null;
  readonly json: Record<string, unknown> | null;
  readonly correction: string | null;
}

/**
 * Returns runs of an agent that the caller sees, newest first: ended root runs that belong to no evaluation; for `feedback` those with such a vote, newest vote
 * first. Omits purged runs and those whose input is neither text nor JSON.
 */
export function runsAsItems(
  ctx: Scoped,
  { workspaceId, agentId, source, rating, status, from, to, limit }: RunsAsked,
): Promise<RunAsItem[]> {
  const visible = visibleTo(ctx, Run, 'r');
  const isVoted = source === 'feedback';
  const time = isVoted ? 'v.at' : 'r.created_at';
  const votes = `join lateral (select max(f.updated_at) as at from feedback f where f.run_id = r.id and (?::text is null or f.rating = ?)) v on v.at is not null`;
  return rows<RunAsItem>(
    ctx.em,
    `select r.id, r.input ->> 'text' as text, nullif(r.input -> 'json', 'null') as json,
            (select f.correction from feedback f where f.run_id = r.id and f.correction is not null order by f.updated_at desc, f.id desc limit 1) as correction
       from runs r ${isVoted ? votes : ''}
      where r.workspace_id = ? and r.agent_id = ? and r.deleted_at is null and r.parent_run_id is null and r.source <> 'evaluation' and r.finished_at is not null
        and (jsonb_exists(r.input, 'text') or jsonb_exists(r.input, 'json')) and (?::text is null or r.status = ?)
        and (?::timestamptz is null or ${time} >= ?::timestamptz) and (?::timestamptz is null or ${time} < ?::timestamptz) and ${visible.sql}
      order by ${time} desc, r.id desc limit ?`,
    [...(isVoted ? [rating, rating] : []), workspaceId, agentId, status, status, from, from, to, to, ...visible.params, limit],
  );
}
