-- The ledger's sums of each quarter of an hour: what usage is read from.

create table usage_rollups (
  id uuid not null,
  organization_id uuid not null,
  workspace_id uuid not null,
  bucket_start timestamptz(3) not null,
  agent_id uuid,
  model text,
  kind text not null,
  user_id uuid,
  service_key_id uuid,
  currency char(3) not null,
  calls bigint not null default '0',
  input_tokens bigint not null default '0',
  cached_read_tokens bigint not null default '0',
  cached_write_tokens bigint not null default '0',
  output_tokens bigint not null default '0',
  reasoning_tokens bigint not null default '0',
  cost numeric(26,9) not null default 0,
  estimated_cost numeric(26,9) not null default 0,
  created_at timestamptz(3) not null default now(),
  primary key (id),
  constraint usage_rollups_kind_check check (kind in ('llm', 'embedding', 'rerank', 'tool', 'search', 'adjustment'))
);
create unique index usage_rollups_group_key on usage_rollups (workspace_id, bucket_start, agent_id, model, kind, user_id, service_key_id, currency) nulls not distinct;
create index usage_rollups_organization_idx on usage_rollups (organization_id, bucket_start);
alter table usage_rollups enable row level security, force row level security;
create policy app_select on usage_rollups for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_insert on usage_rollups for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on usage_rollups for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on usage_rollups for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on usage_rollups to longhaul_sweeper using (true) with check (true);
alter table usage_rollups add constraint usage_rollups_organization_fkey foreign key (organization_id) references organizations(id);
grant select, insert, update on usage_rollups to longhaul_app;
grant select, insert, update, delete on usage_rollups to longhaul_sweeper;

-- What the ledger holds already. A process of the release before settles without them: `longhaul usage rebuild` adds what it wrote meanwhile.
set local role longhaul_sweeper;
insert into usage_rollups (id, organization_id, workspace_id, bucket_start, agent_id, model, kind, user_id, service_key_id, currency, calls, input_tokens,
  cached_read_tokens, cached_write_tokens, output_tokens, reasoning_tokens, cost, estimated_cost)
select (array_agg(e.id order by e.id))[1], e.organization_id, e.workspace_id, date_bin('15 minutes', e.occurred_at, timestamptz '2000-01-01 00:00:00+00'), e.agent_id, e.model,
       e.kind, e.user_id, e.service_key_id, e.currency, count(*) filter (where e.kind <> 'adjustment'), sum(e.input_tokens), sum(e.cached_read_tokens),
       sum(e.cached_write_tokens), sum(e.output_tokens), sum(e.reasoning_tokens), sum(e.cost), coalesce(sum(e.cost) filter (where e.estimated), 0)
  from usage_entries e
 group by e.organization_id, e.workspace_id, 4, e.agent_id, e.model, e.kind, e.user_id, e.service_key_id, e.currency;
reset role;
