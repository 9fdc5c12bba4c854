-- What one unit of a currency is worth in another from a day on, with the place it was read at. Budgets in another currency than the ledger's need one.
create table fx_rates (
  id uuid not null,
  base char(3) not null,
  quote char(3) not null,
  rate numeric(20,12) not null,
  effective_from timestamptz(3) not null,
  source text not null,
  created_at timestamptz(3) not null default now(),
  primary key (id),
  constraint fx_rates_rate_check check (rate > 0)
);
create unique index fx_rates_effective_key on fx_rates (base, quote, effective_from);
alter table fx_rates enable row level security, force row level security;
create policy app_select on fx_rates for select to longhaul_app using (true);
create policy app_insert on fx_rates for insert to longhaul_app with check ((select app_operator()));
create policy app_update on fx_rates for update to longhaul_app using ((select app_operator())) with check ((select app_operator()));
create policy app_delete on fx_rates for delete to longhaul_app using ((select app_operator()));
create policy sweeper_all on fx_rates to longhaul_sweeper using (true) with check (true);
grant select, insert, update, delete on fx_rates to longhaul_app, longhaul_sweeper;
