import { fail } from '../../workflows/contracts/failure.ts';
import { isTerminal, type RunStatus } from '../../workflows/contracts/runs.ts';
import type { Caller } from '../caller.ts';
import { newId } from '../ids.ts';
import type { Page, PageRequest } from '../page.ts';
import { Run } from '../runs/run.entity.ts';
import { inSightOf, seen, visibleTo, type Scoped } from '../scope.ts';
import { change, iso, row, rows } from '../sql.ts';
import { Feedback, type ratings, type voterKinds } from './feedback.entity.ts';

export type Rating = (typeof ratings)[number];

/** Whose vote it is: one a voter and run. */
export interface Voter {
  readonly kind: (typeof voterKinds)[number];
  readonly id: string;
}

/** A vote, whole: what is null or empty was not said. */
export interface Vote {
  readonly rating: Rating;
  readonly comment: string | null;
  readonly tags: readonly string[];
  readonly correction: string | null;
}

/** A run as far as votes on it are concerned. */
export interface VotedRun {
  readonly id: string;
  readonly organization_id: string;
  readonly workspace_id: string;
  readonly agent_id: string;
  readonly agent_revision_id: string;
  readonly status: RunStatus;
}

export interface FeedbackRow {
  readonly id: string;
  readonly run_id: string;
  readonly agent_id: string;
  readonly agent_revision_id: string | null;
  readonly subject_kind: Voter['kind'];
  readonly subject_id: string;
  readonly rating: Rating;
  readonly comment: string | null;
  readonly tags: string[];
  readonly correction: string | null;
  readonly created_at: Date | string;
  readonly updated_at: Date | string;
}

/** The acting user, else the user, else the service key. Throws 403 for who is none of these: a client that works for nobody. */
export function voterOf({ kind, userId, principalId }: Caller): Voter {
  if (userId !== null) return { kind: 'user', id: userId };
  if (kind === 'service_key' && principalId !== null) return { kind, id: principalId };
  throw fail('resource_forbidden', { reason: 'no_voter', detail: 'A client that works for nobody has no vote.' });
}

/**
 * A run that the caller sees, shared to the end of the transaction: it can't be purged before the vote stands, nor voted on after. Throws 404.
 */
export async function holdVotedRun(ctx: Scoped, runId: string): Promise<VotedRun> {
  const visible = inSightOf(ctx, Run, 'r');
  const found = await row<VotedRun>(
    ctx.em,
    `select r.id, r.organization_id, r.workspace_id, r.agent_id, r.agent_revision_id, r.status from runs r
      where r.id = ? and r.deleted_at is null and ${visible.sql} for share of r`,
    [runId, ...visible.params],
  );
  return seen(ctx, found);
}

/** Sets a voter's vote on a run that has ended, in place of an earlier one. Throws 409 `run_not_finished`. */
export async function putVote(
  ctx: Scoped,
  run: VotedRun,
  { voter, vote }: { readonly voter: Voter; readonly vote: Vote },
): Promise<FeedbackRow> {
  if (!isTerminal(run.status)) throw fail('state_conflict', { reason: 'run_not_finished', detail: 'The run has not ended yet.' });

  const [put] = await rows<FeedbackRow>(
    ctx.em,
    `insert into feedback as f (id, organization_id, workspace_id, run_id, agent_id, agent_revision_id, subject_kind, subject_id, rating, comment, tags, correction)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     on conflict (run_id, subject_kind, subject_id) do update
       set rating = excluded.rating, comment = excluded.comment, tags = excluded.tags, correction = excluded.correction, updated_at = clock_timestamp()
     returning f.id, f.run_id, f.agent_id, f.agent_revision_id, f.subject_kind, f.subject_id, f.rating, f.comment, f.tags, f.correction, f.created_at, f.updated_at`,
    [
      newId(),
      run.organization_id,
      run.workspace_id,
      run.id,
      run.agent_id,
      run.agent_revision_id,
      voter.kind,
      voter.id,
      vote.rating,
      vote.comment,
      [...vote.tags],
      vote.correction,
    ],
  );
  if (!put) throw new Error('the upsert of a vote gave no row');
  return put;
}

/** Takes a voter's vote back; false: there was none. */
export async function withdrawVote(ctx: Scoped, run: VotedRun, voter: Voter): Promise<boolean> {
  const own = visibleTo(ctx, Feedback, 'f');
  const removed = await change(
    ctx.em,
    `delete from feedback f where f.run_id = ? and f.subject_kind = ? and f.subject_id = ? and ${own.sql}`,
    [run.id, voter.kind, voter.id, ...own.params],
  );
  return removed > 0;
}

export interface FeedbackFilters {
  readonly agent_id?: string;
  readonly rating?: Rating;
  /** Of the vote's time, which is its last change: from ≤ it < to. */
  readonly from?: string;
  readonly to?: string;
}

/** The votes on one revision of an agent, counted. */
export interface FeedbackGroup {
  readonly agent_id: string;
  readonly agent_revision_id: string | null;
  readonly revision_number: number | null;
  readonly up: number;
  readonly down: number;
  readonly comments: number;
  readonly corrections: number;
  readonly first_at: Date | string;
  readonly last_at: Date | string;
}

/** Votes within the caller's sight by agent and revision, those with most votes first, and how many groups there are. One query. */
export async function listFeedbackGroups(ctx: Scoped, filters: FeedbackFilters, page: PageRequest): Promise<Page<FeedbackGroup>> {
  if (filters.from !== undefined && filters.to !== undefined && Date.parse(filters.from) > Date.parse(filters.to)) throw fromAfterTo();
  const { sql, params } = whereOf(ctx, filters);
  const found = await rows<FeedbackGroup & { readonly groups: number; readonly agent_id: string | null }>(
    ctx.em,
    `with groups as materialized (
       select f.agent_id, f.agent_revision_id, count(*) as total, count(*) filter (where f.rating = 'up') as up, count(*) filter (where f.rating = 'down') as down,
              count(f.comment) as comments, count(f.correction) as corrections, min(f.updated_at) as first_at, max(f.updated_at) as last_at
         from feedback f where ${sql} group by f.agent_id, f.agent_revision_id
     )
     select n.groups, p.agent_id, p.agent_revision_id, v.number as revision_number, p.up, p.down, p.comments, p.corrections, p.first_at, p.last_at
       from (select count(*)::int as groups from groups) n
       left join lateral (select * from groups order by total desc, agent_id, agent_revision_id limit ? offset ?) p on true
       left join agent_revisions v on v.id = p.agent_revision_id and v.agent_id = p.agent_id
      order by p.total desc, p.agent_id, p.agent_revision_id`,
    [...params, page.limit, page.offset ?? 0],
  );
  return { items: found.filter((group) => group.agent_id !== null), next: null, total: found[0]?.groups ?? 0 };
}

function whereOf(ctx: Scoped, filters: FeedbackFilters): { readonly sql: string; readonly params: unknown[] } {
  const visible = visibleTo(ctx, Feedback, 'f');
  const where = [visible.sql];
  const params = [...visible.params];
  const add = (sql: string, value: unknown) => {
    if (value === undefined) return;
    where.push(sql);
    params.push(value);
  };
  add('f.agent_id = ?', filters.agent_id);
  add('f.rating = ?', filters.rating);
  add('f.updated_at >= ?::timestamptz', filters.from);
  add('f.updated_at < ?::timestamptz', filters.to);
  return { sql: where.join(' and '), params };
}

function fromAfterTo(): Error {
  const message = 'from lies after to';
  return fail('validation_failed', { detail: message, errors: [{ in: 'query', pointer: null, name: 'from', rule: 'range', message }] });
}

/** The wire form of a vote. */
export function toFeedbackView(row: FeedbackRow) {
  return {
    id: row.id,
    run_id: row.run_id,
    agent_id: row.agent_id,
    agent_revision_id: row.agent_revision_id,
    subject: { kind: row.subject_kind, id: row.subject_id },
    rating: row.rating,
    comment: row.comment,
    tags: row.tags,
    correction: row.correction,
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}

/** The wire form of the votes on one revision. */
export function toFeedbackAggregateView(group: FeedbackGroup) {
  const total = group.up + group.down;
  return {
    agent_id: group.agent_id,
    agent_revision_id: group.agent_revision_id,
    revision_number: group.revision_number,
    up: group.up,
    down: group.down,
    total,
    comments: group.comments,
    corrections: group.corrections,
    up_rate: rounded(group.up / total),
    up_rate_lower: rounded(wilsonLower(group.up, total)),
    first_at: iso(group.first_at),
    last_at: iso(group.last_at),
  };
}

/** 0.975 quantile of the standard normal distribution. */
const z = 1.959963984540054;

/** Lower end of the 95 % Wilson score interval of `successes` in `trials` > 0 (E. B. Wilson, 1927). */
export function wilsonLower(successes: number, trials: number): number {
  const rate = successes / trials;
  const spread = z * Math.sqrt((rate * (1 - rate)) / trials + z ** 2 / (4 * trials ** 2));
  return Math.max(0, (rate + z ** 2 / (2 * trials) - spread) / (1 + z ** 2 / trials));
}

/** Rates have at most 6 decimals. */
function rounded(value: number): number {
  return Number(value.toFixed(6));
}
