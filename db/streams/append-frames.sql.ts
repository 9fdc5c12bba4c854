/** Signatures of the definer functions of streams: owned by longhaul_gate, executable only by longhaul_app. */
export const streamFunctions = ['append_frames(jsonb, integer)'] as const;

/** The grants that longhaul_gate needs for them, by table. */
export const streamGrants = {
  run_streams: ['select', 'update'],
  run_stream_scopes: ['select', 'insert', 'update', 'delete'],
  run_frame_chunks: ['select', 'insert'],
} as const;

/** The two texts in the run.status frame announcing a new attempt that `append_frames` replaces. */
export const noDiscarded = '"discarded_message_ids":[]';
export const stillRunning = '"status":"running","previous":"running"';

/**
 * `append_frames(batches, lock_wait_ms)` fences, numbers and archives the batches of any number of runs, of any tenants, in one statement. It locks their
 * run_streams rows, including those of the roots, by ascending run id, and processes the batches in the order given.
 *
 * A batch: `{run, workspace, scope | null, attempt, batch, texts[], advisory[], opens[], completes[], ends, front | null}`; a text is the part of the frame
 * after `{"v":2,"seq":n,`. An answer, in the same order: `{result, first, last, cancel, copy_first, copy_last, front}`. The result is ok, ended (also for a
 * purged run or one of another workspace), fenced, or repeat (with the original numbers if it was the scope's last batch). `front` is the announcement put
 * before the batch.
 */
export const appendFramesSql = `
create or replace function append_frames(batches jsonb, lock_wait_ms integer) returns jsonb
language plpgsql volatile security definer
set search_path = pg_catalog, public, pg_temp
set lock_timeout = '5s'
as $append$
declare
  run_ids uuid[];
  one record;
  found_row record;
  texts text[];
  is_advisory boolean[];
  front text;
  still_open uuid[];
  first_number bigint;
  last_number bigint;
  copies text[];
  copy_first bigint;
  answers jsonb[] := '{}';
begin
  perform set_config('lock_timeout', lock_wait_ms::text, true);

  select array_agg(distinct (item ->> 'run')::uuid) into run_ids from jsonb_array_elements(batches) as item;
  select run_ids || array_agg(s.root_run_id) into run_ids from run_streams s where s.run_id = any (run_ids);
  perform 1 from run_streams s where s.run_id = any (run_ids) order by s.run_id for no key update;

  for one in
    select b.* from jsonb_to_recordset(batches) as b(run uuid, workspace uuid, scope text, attempt integer, batch integer,
      texts text[], advisory boolean[], opens uuid[], completes uuid[], ends boolean, front text)
  loop
    select s.organization_id, s.head_seq, s.ended, s.cancel_requested, s.root_run_id,
        r.head_seq as root_head, coalesce(not r.ended, false) as has_root,
        k.attempt, k.batch, k.first_seq, k.last_seq, coalesce(k.open_message_ids, '{}') as open_message_ids
      into found_row
      from run_streams s
      left join run_streams r on r.run_id = s.root_run_id and s.root_run_id <> s.run_id
      left join run_stream_scopes k on k.run_id = s.run_id and k.scope = one.scope
      where s.run_id = one.run and s.workspace_id = one.workspace;

    if not found or found_row.ended then
      answers := answers || jsonb_build_object('result', 'ended', 'cancel', coalesce(found_row.cancel_requested, true));
      continue;
    end if;
    if found_row.attempt > one.attempt then
      answers := answers || jsonb_build_object('result', 'fenced', 'cancel', found_row.cancel_requested);
      continue;
    end if;
    if found_row.attempt = one.attempt and found_row.batch >= one.batch then
      answers := answers || jsonb_build_object('result', 'repeat', 'cancel', found_row.cancel_requested,
        'first', case when found_row.batch = one.batch then found_row.first_seq end,
        'last', case when found_row.batch = one.batch then found_row.last_seq end);
      continue;
    end if;

    texts := one.texts;
    is_advisory := one.advisory;
    still_open := found_row.open_message_ids;
    front := null;
    if one.attempt > coalesce(found_row.attempt, 1) then
      if left(one.scope, 1) = 's' then
        if one.front is null then
          raise exception 'batch of a new attempt without its announcement';
        end if;
        front := replace(one.front, '${noDiscarded}', '"discarded_message_ids":' || to_json(still_open)::text);
        if found_row.cancel_requested then
          front := replace(front, '${stillRunning}', '"status":"cancelling","previous":"cancelling"');
        end if;
        texts := front || texts;
        is_advisory := false || is_advisory;
      end if;
      still_open := '{}';
    end if;

    first_number := found_row.head_seq + 1;
    last_number := found_row.head_seq + cardinality(texts);
    copy_first := null;
    if cardinality(texts) > 0 then
      insert into run_frame_chunks (run_id, organization_id, workspace_id, first_seq, last_seq, frames, created_at)
        select one.run, found_row.organization_id, one.workspace, first_number, last_number,
          array_agg('{"v":2,"seq":' || (found_row.head_seq + t.n) || ',' || t.text order by t.n), now()
        from unnest(texts) with ordinality as t(text, n);

      if found_row.has_root then
        select array_agg('{"v":2,"seq":' || (found_row.root_head + c.copy_no) || ',"origin_seq":' || (found_row.head_seq + c.n) || ',' || c.text order by c.n)
          into copies
          from (select t.text, t.n, row_number() over (order by t.n) as copy_no
            from unnest(texts, is_advisory) with ordinality as t(text, advisory, n) where not t.advisory) c;
        if copies is not null then
          copy_first := found_row.root_head + 1;
          insert into run_frame_chunks (run_id, organization_id, workspace_id, first_seq, last_seq, frames, created_at)
            values (found_row.root_run_id, found_row.organization_id, one.workspace, copy_first, found_row.root_head + cardinality(copies), copies, now());
          update run_streams set head_seq = found_row.root_head + cardinality(copies), updated_at = now() where run_id = found_row.root_run_id;
        end if;
      end if;

      update run_streams set head_seq = last_number, ended = one.ends, updated_at = now() where run_id = one.run;
    end if;

    if one.ends then
      delete from run_stream_scopes where run_id = one.run;
    elsif one.scope is not null then
      still_open := array(select distinct id from unnest(still_open || one.opens) as id where id <> all (one.completes));
      insert into run_stream_scopes (run_id, organization_id, workspace_id, scope, attempt, batch, first_seq, last_seq, open_message_ids)
        values (one.run, found_row.organization_id, one.workspace, one.scope, one.attempt, one.batch, first_number, last_number, still_open)
        on conflict (run_id, scope) do update set attempt = excluded.attempt, batch = excluded.batch,
          first_seq = excluded.first_seq, last_seq = excluded.last_seq, open_message_ids = excluded.open_message_ids;
    end if;

    answers := answers || jsonb_build_object('result', 'ok', 'first', first_number, 'last', last_number, 'cancel', found_row.cancel_requested,
      'front', front, 'copy_first', copy_first, 'copy_last', case when copy_first is not null then found_row.root_head + cardinality(copies) end);
  end loop;

  return to_jsonb(answers);
end
$append$`;
