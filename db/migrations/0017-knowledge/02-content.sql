-- Sources, items, their parts and what is searched.

create table knowledge_sources (
  id uuid not null,
  kb_id uuid not null,
  organization_id uuid,
  workspace_id uuid,
  kind text not null,
  title text,
  uri text,
  attachment_id uuid,
  text text,
  item_kind text not null default 'document',
  tags text[] not null default '{}',
  metadata jsonb not null default '{}',
  media_type text,
  content_hash text,
  extractor text,
  state text not null default 'queued',
  item_count int not null default 0,
  chunk_count int not null default 0,
  token_count int not null default 0,
  warnings jsonb not null default '[]',
  error jsonb,
  run_id uuid,
  sync_no int not null default 0,
  predecessor_source_id uuid,
  last_synced_at timestamptz(3),
  created_by jsonb not null,
  version int not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  primary key (id),
  constraint knowledge_sources_kind_check check (kind in ('attachment', 'url', 'text')),
  constraint knowledge_sources_item_kind_check check (item_kind in ('document', 'fact', 'preference', 'procedure', 'event', 'qa', 'summary')),
  constraint knowledge_sources_state_check check (state in ('queued', 'fetching', 'parsing', 'indexing', 'ready', 'failed'))
);
create index knowledge_sources_organization_idx on knowledge_sources (organization_id, id desc);
create index knowledge_sources_state_idx on knowledge_sources (kb_id, state);
create unique index knowledge_sources_predecessor_key on knowledge_sources (kb_id, predecessor_source_id) where predecessor_source_id is not null;
alter table knowledge_sources enable row level security, force row level security;
create policy app_select on knowledge_sources for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy app_insert on knowledge_sources for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on knowledge_sources for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on knowledge_sources for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on knowledge_sources to longhaul_sweeper using (true) with check (true);

create table knowledge_items (
  id uuid not null,
  kb_id uuid not null,
  organization_id uuid,
  workspace_id uuid,
  source_id uuid,
  external_id text,
  kind text not null,
  title text,
  content text not null,
  content_hash text not null,
  tags text[] not null default '{}',
  metadata jsonb not null default '{}',
  fact jsonb,
  evidence jsonb not null default '[]',
  valid_from timestamptz(3),
  valid_until timestamptz(3),
  observed_at timestamptz(3),
  origin text not null,
  trust text not null,
  curation_state text not null,
  superseded_by_id uuid,
  predecessor_item_id uuid,
  token_count int not null default 0,
  chunk_count int not null default 0,
  index_state text not null default 'pending',
  index_error text,
  staged_run_id uuid,
  last_used_at timestamptz(3),
  version int not null default 1,
  created_by jsonb not null,
  row_version int not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  primary key (id),
  constraint knowledge_items_kb_key unique (id, kb_id),
  constraint knowledge_items_validity check (valid_from < valid_until),
  constraint knowledge_items_kind_check check (kind in ('document', 'fact', 'preference', 'procedure', 'event', 'qa', 'summary')),
  constraint knowledge_items_origin_check check (origin in ('human', 'agent', 'import', 'derived')),
  constraint knowledge_items_trust_check check (trust in ('untrusted', 'workspace', 'reviewed')),
  constraint knowledge_items_curation_state_check check (curation_state in ('pending', 'reviewed', 'promoted', 'superseded', 'retired')),
  constraint knowledge_items_index_state_check check (index_state in ('pending', 'ready', 'failed'))
);
create index knowledge_items_organization_idx on knowledge_items (organization_id, id desc);
create unique index knowledge_items_external_key on knowledge_items (kb_id, external_id) where external_id is not null and deleted_at is null and staged_run_id is null;
create index knowledge_items_list_idx on knowledge_items (kb_id, id);
create index knowledge_items_hash_idx on knowledge_items (kb_id, content_hash);
create index knowledge_items_state_idx on knowledge_items (kb_id, curation_state);
create index knowledge_items_source_idx on knowledge_items (source_id, id) where source_id is not null;
create index knowledge_items_staged_idx on knowledge_items (staged_run_id, id) where staged_run_id is not null;
create index knowledge_items_pending_idx on knowledge_items (kb_id, id) where index_state = 'pending' and deleted_at is null;
create unique index knowledge_items_predecessor_key on knowledge_items (kb_id, predecessor_item_id) where predecessor_item_id is not null;
create index knowledge_items_superseded_by_idx on knowledge_items (superseded_by_id) where superseded_by_id is not null;
alter table knowledge_items enable row level security, force row level security;
create policy app_select on knowledge_items for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy app_insert on knowledge_items for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on knowledge_items for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on knowledge_items for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on knowledge_items to longhaul_sweeper using (true) with check (true);

create table knowledge_item_versions (
  item_id uuid not null,
  version int not null,
  kb_id uuid not null,
  organization_id uuid,
  workspace_id uuid,
  title text,
  content text not null,
  content_hash text not null,
  metadata jsonb not null default '{}',
  tags text[] not null default '{}',
  actor jsonb not null,
  reason text,
  created_at timestamptz(3) not null default now(),
  primary key (item_id, version)
);
alter table knowledge_item_versions enable row level security, force row level security;
create policy app_select on knowledge_item_versions for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy app_insert on knowledge_item_versions for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on knowledge_item_versions for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on knowledge_item_versions for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on knowledge_item_versions to longhaul_sweeper using (true) with check (true);

create table knowledge_chunks (
  id uuid not null,
  kb_id uuid not null,
  organization_id uuid,
  workspace_id uuid,
  item_id uuid not null,
  ord int not null,
  text text not null,
  context text,
  char_start int not null,
  char_end int not null,
  page int,
  token_count int not null,
  content_hash text not null,
  lexemes tsvector not null,
  lex_len int not null,
  predecessor_chunk_id uuid,
  created_at timestamptz(3) not null default now(),
  primary key (id),
  constraint knowledge_chunks_slice check (0 <= char_start and char_start < char_end)
);
create unique index knowledge_chunks_ord_key on knowledge_chunks (item_id, ord);
create unique index knowledge_chunks_predecessor_key on knowledge_chunks (kb_id, predecessor_chunk_id);
create index knowledge_chunks_lexemes_idx on knowledge_chunks using gin (lexemes) with (fastupdate = off);
alter table knowledge_chunks enable row level security, force row level security;
create policy app_select on knowledge_chunks for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy app_insert on knowledge_chunks for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on knowledge_chunks for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on knowledge_chunks for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on knowledge_chunks to longhaul_sweeper using (true) with check (true);

create table knowledge_vectors (
  chunk_id uuid not null,
  kb_id uuid not null,
  organization_id uuid,
  workspace_id uuid,
  embedding_model text not null,
  embedding_dim int not null,
  embedding halfvec storage plain not null,
  created_at timestamptz(3) not null default now(),
  primary key (chunk_id),
  constraint knowledge_vectors_dim check (vector_dims(embedding) = embedding_dim)
);
create index knowledge_vectors_kb_idx on knowledge_vectors (kb_id);
alter table knowledge_vectors enable row level security, force row level security;
create policy app_select on knowledge_vectors for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy app_insert on knowledge_vectors for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on knowledge_vectors for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on knowledge_vectors for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on knowledge_vectors to longhaul_sweeper using (true) with check (true);

create table knowledge_terms (
  kb_id uuid not null,
  lexeme text not null,
  organization_id uuid,
  workspace_id uuid,
  df int not null,
  primary key (kb_id, lexeme)
);
alter table knowledge_terms enable row level security, force row level security;
create policy app_select on knowledge_terms for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy app_insert on knowledge_terms for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on knowledge_terms for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on knowledge_terms for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on knowledge_terms to longhaul_sweeper using (true) with check (true);

create table knowledge_relations (
  id uuid not null,
  kb_id uuid not null,
  organization_id uuid,
  workspace_id uuid,
  from_item_id uuid not null,
  to_item_id uuid not null,
  type text not null,
  note text,
  created_by jsonb not null,
  created_at timestamptz(3) not null default now(),
  primary key (id),
  constraint knowledge_relations_ends check (from_item_id <> to_item_id),
  constraint knowledge_relations_type_check check (type in ('related', 'part_of', 'derived_from', 'supersedes', 'contradicts', 'duplicate_of', 'supports'))
);
create unique index knowledge_relations_ends_key on knowledge_relations (from_item_id, to_item_id, type);
create index knowledge_relations_to_idx on knowledge_relations (to_item_id);
create index knowledge_relations_kb_idx on knowledge_relations (kb_id);
alter table knowledge_relations enable row level security, force row level security;
create policy app_select on knowledge_relations for select to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))) or organization_id is null);
create policy app_insert on knowledge_relations for insert to longhaul_app with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_update on knowledge_relations for update to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))) with check ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy app_delete on knowledge_relations for delete to longhaul_app using ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[]))));
create policy sweeper_all on knowledge_relations to longhaul_sweeper using (true) with check (true);

create table knowledge_embedding_cache (
  organization_id uuid not null,
  model text not null,
  revision text not null,
  sha256 text not null,
  embedding halfvec not null,
  used_at timestamptz(3) not null,
  created_at timestamptz(3) not null default now(),
  primary key (organization_id, model, revision, sha256)
);
create index knowledge_embedding_cache_used_idx on knowledge_embedding_cache (used_at);
alter table knowledge_embedding_cache enable row level security, force row level security;
create policy app_select on knowledge_embedding_cache for select to longhaul_app using ((select app_operator()) or organization_id = (select app_org()));
create policy app_insert on knowledge_embedding_cache for insert to longhaul_app with check ((select app_operator()) or organization_id = (select app_org()));
create policy app_update on knowledge_embedding_cache for update to longhaul_app using ((select app_operator()) or organization_id = (select app_org())) with check ((select app_operator()) or organization_id = (select app_org()));
create policy app_delete on knowledge_embedding_cache for delete to longhaul_app using ((select app_operator()) or organization_id = (select app_org()));
create policy sweeper_all on knowledge_embedding_cache to longhaul_sweeper using (true) with check (true);
