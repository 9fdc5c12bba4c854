-- Knowledge bases, what they hold in numbers, and who may use them.

create extension if not exists vector;

create table knowledge_bases (
  id uuid not null,
  scope text not null,
  organization_id uuid,
  workspace_id uuid,
  slug text not null,
  name text not null,
  kind text not null,
  owner_agent_id uuid,
  owner_persona_id uuid,
  subject_kind text,
  subject_id text,
  is_private boolean not null default false,
  is_frozen boolean not null default false,
  embedding_model text not null,
  embedding_dim int not null,
  chunking jsonb not null default '{"size_tokens":400,"overlap_tokens":40}',
  retrieval jsonb not null default '{"language":"en","vector_weight":null,"include_pending":false}',
  lex_no serial,
  predecessor_id uuid,
  successor_id uuid,
  activated_at timestamptz(3),
  last_consolidated_at timestamptz(3),
  version int not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  primary key (id),
  constraint knowledge_bases_tenant_key unique (id, organization_id),
  constraint knowledge_bases_model_key unique (id, embedding_model, embedding_dim),
  constraint knowledge_bases_scope_columns check ((scope = 'platform' and organization_id is null and workspace_id is null) or (scope = 'organization' and organization_id is not null and workspace_id is null) or (scope = 'workspace' and organization_id is not null and workspace_id is not null)),
  constraint knowledge_bases_model check ((embedding_model = 'none') = (embedding_dim = 0) and embedding_dim >= 0 and embedding_dim <= 3072),
  constraint knowledge_bases_subject check ((subject_kind is null) = (subject_id is null) and (subject_kind is null or is_private)),
  constraint knowledge_bases_scope_check check (scope in ('workspace', 'organization', 'platform')),
  constraint knowledge_bases_kind_check check (kind in ('documents', 'memory', 'faq', 'playbook', 'code')),
  constraint knowledge_bases_subject_kind_check check (subject_kind in ('user', 'guest'))
);
create index knowledge_bases_organization_idx on knowledge_bases (organization_id, id desc);
create index knowledge_bases_platform_idx on knowledge_bases (id desc) where scope = 'platform';
create unique index knowledge_bases_slug_workspace_key on knowledge_bases (workspace_id, slug) where scope = 'workspace' and deleted_at is null;
create unique index knowledge_bases_slug_organization_key on knowledge_bases (organization_id, slug) where scope = 'organization' and deleted_at is null;
create unique index knowledge_bases_slug_platform_key on knowledge_bases (slug) where scope = 'platform' and deleted_at is null;
create unique index knowledge_bases_lex_no_key on knowledge_bases (lex_no);
create index knowledge_bases_owner_agent_idx on knowledge_bases (owner_agent_id) where owner_agent_id is not null;
create index knowledge_bases_subject_idx on knowledge_bases (organization_id, subject_kind, subject_id) where subject_kind is not null;
create index knowledge_bases_predecessor_idx on knowledge_bases (predecessor_id) where predecessor_id is not null;
alter table knowledge_bases enable row level security, force row level security;
create policy app_select on knowledge_bases for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy app_insert on knowledge_bases for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on knowledge_bases for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on knowledge_bases for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on knowledge_bases to longhaul_sweeper using (true) with check (true);

create table knowledge_base_counters (
  kb_id uuid not null,
  organization_id uuid,
  workspace_id uuid,
  pending int not null default 0,
  reviewed int not null default 0,
  promoted int not null default 0,
  superseded int not null default 0,
  retired int not null default 0,
  chunks int not null default 0,
  tokens bigint not null default '0',
  lex_len bigint not null default '0',
  primary key (kb_id),
  constraint knowledge_base_counters_counts check (pending >= 0 and reviewed >= 0 and promoted >= 0 and superseded >= 0 and retired >= 0 and chunks >= 0 and tokens >= 0 and lex_len >= 0)
);
alter table knowledge_base_counters enable row level security, force row level security;
create policy app_select on knowledge_base_counters for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy app_insert on knowledge_base_counters for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on knowledge_base_counters for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on knowledge_base_counters for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on knowledge_base_counters to longhaul_sweeper using (true) with check (true);

create table knowledge_grants (
  id uuid not null,
  kb_id uuid not null,
  organization_id uuid,
  workspace_id uuid,
  principal_kind text not null,
  principal_id uuid,
  role text,
  access text not null,
  expires_at timestamptz(3),
  created_by_user_id uuid,
  version int not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (id),
  constraint knowledge_grants_principal check ((principal_kind = 'role') = (role is not null) and (principal_kind = 'role') = (principal_id is null)),
  constraint knowledge_grants_principal_kind_check check (principal_kind in ('agent', 'persona', 'user', 'role', 'workspace')),
  constraint knowledge_grants_role_check check (role in ('viewer', 'member', 'admin', 'owner', 'operator')),
  constraint knowledge_grants_access_check check (access in ('read', 'write', 'curate', 'manage'))
);
create index knowledge_grants_organization_idx on knowledge_grants (organization_id, id desc);
create unique index knowledge_grants_principal_key on knowledge_grants (kb_id, principal_kind, principal_id, role) nulls not distinct;
create index knowledge_grants_principal_idx on knowledge_grants (principal_kind, principal_id);
alter table knowledge_grants enable row level security, force row level security;
create policy app_select on knowledge_grants for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy app_insert on knowledge_grants for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on knowledge_grants for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on knowledge_grants for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on knowledge_grants to longhaul_sweeper using (true) with check (true);
