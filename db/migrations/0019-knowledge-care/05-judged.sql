-- What a judge model has read in the content of an item: {hash, facts, cleared}. Counts for content of that hash alone, so that no judge is paid twice for it.
alter table knowledge_items add column judged jsonb;
