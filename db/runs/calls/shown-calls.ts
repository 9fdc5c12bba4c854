import { iso } from '../../sql.ts';

/** A call that waits for its client, as a run's view shows it. */
export interface PendingCallRow {
  readonly tool_call_id: string;
  readonly run_id: string;
  readonly slug: string;
  readonly args: Record<string, unknown> | null;
  readonly args_hash: string;
  readonly truncated: boolean;
  readonly deadline_at: string;
}

/** A call that a message asks for. */
export interface MessageCallRow {
  readonly tool_call_id: string;
  readonly slug: string;
  readonly args: Record<string, unknown> | null;
  readonly args_hash: string | null;
  readonly truncated: boolean;
  readonly client_owned: boolean;
  readonly deadline_at: string | null;
}

/** Maximum characters of arguments in one list, as JSON: as much as a frame may hold, and more than the arguments of any single call. */
const maxArgsChars = 256 * 1024;
const maxPending = 50;

/** For a list `c` whose `chars` is the running total of the arguments' characters: arguments beyond the limit are omitted and marked as truncated. */
const argsFields = `'args', case when c.chars <= ${maxArgsChars} then c.args end, 'args_hash', c.args_hash, 'truncated', c.chars > ${maxArgsChars}`;
const charsOver = (order: string) => `sum(coalesce(length(k.args::text), 0)) over (order by ${order}) as chars`;

/** Whether call `k` of run `d` waits for its client: a result is still accepted, and the run still needs it. */
const isAwaited = (k: string, d: string) =>
  `${k}.client_owned and ${k}.state = 'ready' and ${k}.deadline_at is not null and ${d}.status in ('running', 'waiting')`;

/**
 * The calls that clients are to execute for run `r` and its descendants, oldest first, at most 50. All open calls of a run belong to its last step, which
 * the index on their position finds; a run that is not active costs nothing.
 */
export const pendingCallsSql = `case when r.status in ('running', 'waiting') then coalesce((
    select jsonb_agg(jsonb_build_object('tool_call_id', c.id, 'run_id', c.run_id, 'slug', c.slug, ${argsFields}, 'deadline_at', c.deadline_at) order by c.id)
      from (select k.*, ${charsOver('k.id')} from (
        select k.id, k.run_id, k.slug, k.args, k.args_hash, k.deadline_at from runs d join tool_calls k on k.run_id = d.id and k.step >= d.steps
         where d.root_run_id = r.root_run_id and (d.id = r.id or d.lineage @> array[r.id]) and ${isAwaited('k', 'd')}
         order by k.id limit ${maxPending}) k) c), '[]'::jsonb) else '[]'::jsonb end`;

/** The calls that message `m` asks for, in the model's order; `t` is the run being read, the only run of its conversation that can be active. */
export const messageCallsSql = `coalesce((
    select jsonb_agg(jsonb_build_object('tool_call_id', c.id, 'slug', c.slug, ${argsFields}, 'client_owned', c.client_owned,
             'deadline_at', case when ${isAwaited('c', 't')} then c.deadline_at end) order by c.pos)
      from (select k.id, k.slug, k.args, k.args_hash, k.client_owned, k.state, k.deadline_at, k.pos, ${charsOver('k.pos')}
              from tool_calls k where k.id = any (m.tool_call_ids) and k.workspace_id = m.workspace_id) c), '[]'::jsonb)`;

/** Returns the wire form of a call that waits for its client. */
export function toPendingCallView(row: PendingCallRow) {
  return {
    tool_call_id: row.tool_call_id,
    run_id: row.run_id,
    slug: row.slug,
    args: row.args,
    args_hash: row.args_hash,
    truncated: row.truncated,
    deadline_at: iso(row.deadline_at),
  };
}

/** Returns the wire form of a call in its message. */
export function toMessageCallView(row: MessageCallRow) {
  return {
    tool_call_id: row.tool_call_id,
    slug: row.slug,
    args: row.args,
    args_hash: row.args_hash,
    truncated: row.truncated,
    client_owned: row.client_owned,
    deadline_at: iso(row.deadline_at),
  };
}
