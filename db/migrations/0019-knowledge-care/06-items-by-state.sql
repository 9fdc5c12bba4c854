-- With the id behind it this index is as large as the others of the base. While it was the smallest, PostgreSQL checked the foreign key of chunks through it where the table had no
-- statistics yet: by reading all items of the base for each chunk.
drop index knowledge_items_state_idx;
create index knowledge_items_state_idx on knowledge_items (kb_id, curation_state, id);
