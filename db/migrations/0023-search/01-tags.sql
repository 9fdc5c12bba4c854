-- Items are found by their tags, of every base.
create index knowledge_items_tags_idx on knowledge_items using gin (tags) where tags <> '{}';

-- Texts of a JSON array. Of a constant it is one, so that an index serves what is compared with it.
create function knowledge_texts(p_values jsonb) returns text[] language sql immutable strict parallel safe
  set search_path = pg_catalog, pg_temp as $$ select array(select jsonb_array_elements_text(p_values)) $$;
