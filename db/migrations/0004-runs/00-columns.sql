-- Columns of tables that were there before.
alter table runs add column lineage uuid[] not null default '{}';
alter table runs add column path text[] not null default '{}';
alter table runs add column is_superseded boolean not null default false;
alter table runs add column waited_ms bigint not null default '0';
alter table runs add column waiting_since timestamptz(3);
create index runs_delayed_idx on runs (start_after) where status = 'queued' and queue_no is null and activated_at is null;
alter table tool_calls add column gate text constraint tool_calls_gate_check check (gate in ('critical', 'binding', 'first', 'effect', 'input', 'confirmation', 'auth'));

-- Ends a transaction from within a statement whose result nobody reads: raises the fault where there is a reason.
create function app_refuse(fault text, reason text) returns boolean language plpgsql as $refuse$
begin
  if reason is not null then
    raise exception using errcode = fault, message = reason;
  end if;
  return true;
end
$refuse$;
