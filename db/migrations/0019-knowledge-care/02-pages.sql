-- Where the pages of its file begin in an item, so that they survive when it is cut anew. Of items that are there, their chunks know it: none lies on two pages.
alter table knowledge_items add column pages jsonb;
create or replace view knowledge_live_items with (security_invoker = true) as
  select i.* from knowledge_items i join knowledge_bases b on b.id = i.kb_id
   where b.deleted_at is null and b.activated_at is not null and i.deleted_at is null and i.staged_run_id is null;

set local role longhaul_sweeper;
update knowledge_items i set pages = p.pages
  from (select item_id, jsonb_agg(jsonb_build_object('page', page, 'start', start) order by start) as pages
          from (select item_id, page, min(char_start) as start from knowledge_chunks where page is not null group by item_id, page) c group by item_id) p
 where p.item_id = i.id;
reset role;
