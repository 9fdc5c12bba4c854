alter table organization_settings add column trace_content boolean not null default false;
