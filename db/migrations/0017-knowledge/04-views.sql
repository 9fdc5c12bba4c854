-- The only live predicate: base there and activated, item there and published. Every read but `include_deleted`, every count, walk, job and export goes through it.

create view knowledge_live_items with (security_invoker = true) as
  select i.* from knowledge_items i join knowledge_bases b on b.id = i.kb_id
   where b.deleted_at is null and b.activated_at is not null and i.deleted_at is null and i.staged_run_id is null;

create view knowledge_live_chunks with (security_invoker = true) as
  select c.* from knowledge_chunks c join knowledge_live_items i on i.id = c.item_id and i.kb_id = c.kb_id;
