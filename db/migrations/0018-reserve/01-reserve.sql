-- A reservation as a function: the reservations of a workspace wait for each other's rows, and each of them then looks at its rows once more. That costs as much as the
-- whole statement that waits. So only the short select that locks waits here, and what can be known before it is asked before. It runs with the rights of its caller.
create function reserve_call(wanted_key text, wanted_org uuid, wanted_ws uuid, wanted_caps text[], wanted_estimate numeric, passes boolean, lease_s int,
  out ok boolean, out full_at text, out stale boolean, out at timestamptz) language plpgsql as $reserve$
declare
  w record;
  budgets_open int;
  ids uuid[] := '{}';
  amounts numeric[] := '{}';
  ends_at timestamptz;
begin
  select count(*) into budgets_open from budgets g where g.workspace_id = wanted_ws;
  ok := true;
  stale := false;
  for w in
    select b.id, b.cap_key, b.period, b.spent, b.reserved, b.window_end, ceil(wanted_estimate * b.fx_rate * 1e9) / 1e9 as amt,
           case when b.is_enforced and not passes then b.limit_amount end as cap
      from budget_windows b
     where b.workspace_id = wanted_ws and b.closed_at is null and (b.cap_key is null or b.cap_key = any (wanted_caps))
     order by b.period, b.id for update
  loop
    ids := ids || w.id;
    amounts := amounts || w.amt;
    if w.cap_key is null then budgets_open := budgets_open - 1; end if;
    if w.window_end is not null then
      stale := stale or w.window_end <= clock_timestamp();
      ends_at := least(ends_at, w.window_end);
    end if;
    -- What the call holds already needs no room.
    if w.spent + w.reserved + w.amt > w.cap
       and not exists (select from budget_holds h where h.call_key = wanted_key and h.window_id = w.id and h.state = 'held') then
      ok := false;
      if w.spent + w.amt > w.cap then full_at := least(full_at, coalesce(w.cap_key, w.period)); end if;
    end if;
  end loop;
  stale := stale or budgets_open > 0;
  ok := ok and not stale;
  if ok and cardinality(ids) > 0 then
    with h as (
      insert into budget_holds (call_key, window_id, organization_id, workspace_id, amount, lease_until)
      select wanted_key, u.id, wanted_org, wanted_ws, u.amount, clock_timestamp() + make_interval(secs => lease_s) from unnest(ids, amounts) as u (id, amount)
      on conflict (call_key, window_id) do update set state = 'held', amount = excluded.amount, lease_until = excluded.lease_until, closed_at = null
         where budget_holds.state in ('released', 'expired')
      returning window_id, amount)
    update budget_windows b set reserved = b.reserved + h.amount from h where b.id = h.window_id;
  end if;
  at := least(clock_timestamp(), ends_at - interval '1 millisecond');
end $reserve$;
revoke all on function reserve_call(text, uuid, uuid, text[], numeric, boolean, int) from public;
grant execute on function reserve_call(text, uuid, uuid, text[], numeric, boolean, int) to longhaul_app;
