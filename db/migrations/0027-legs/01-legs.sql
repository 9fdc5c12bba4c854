-- Both legs of a search are one function, which gives a row for each try of a leg in place of one for each chunk.
-- The item of a vector, so that a search need not look up its chunk. Rows that are there keep null, and are looked up as before.
alter table knowledge_vectors add column item_id uuid;

grant create on schema public to longhaul_gate;
set local role longhaul_gate;
drop function gate_knowledge_candidates(jsonb,jsonb,jsonb);
drop function gate_knowledge_nearest(jsonb,text[],jsonb);
create or replace function gate_knowledge_legs(p_bases jsonb, p_lexemes jsonb, p_embeddings text[], p_filter jsonb, p_has_use boolean)
  returns table (kb_id uuid, chunk_ids text, used_at text, lexeme_counts text, matched text, document_frequencies int[], distances text)
  language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off set join_collapse_limit = 1 set max_parallel_workers_per_gather = 0 set plan_cache_mode = force_generic_plan as $gate$
  declare
    v_operator boolean := app_operator();
    v_org uuid := app_org();
    v_ws_all boolean := app_ws_all();
    v_ws uuid[] := app_ws();
    -- Filters that may drop most items; a time of validity seldom does.
    v_is_narrow boolean := p_filter - 'valid_at' <> '{}';
    v_valid_at timestamptz := p_filter ->> 'valid_at';
    v_id uuid;
    v_states text[];
    v_count int;
    v_language text;
    v_prefix text;
    v_dim int;
    v_embedding_no int;
    v_use_index boolean;
    v_if_empty boolean;
    v_found int;
    v_lexemes text[];
    v_rare tsquery;
    v_every tsquery;
    v_rare_df bigint;
    v_query tsquery;
    v_try int;
    v_embedding halfvec;
    v_items uuid[];
    v_chunks bigint;
    v_way text;
  begin
    for v_id, v_states, v_count, v_language, v_prefix, v_dim, v_embedding_no, v_use_index, v_if_empty in
      select b.id, g.states, g.chunk_count, g.language, g.prefix, g.dim, g.embedding, g.use_index, g.if_empty
      from jsonb_to_recordset(p_bases) as g(kb_id uuid, states text[], chunk_count int, language text, prefix text, dim int, embedding int, use_index boolean, if_empty boolean)
      join knowledge_bases b on b.id = g.kb_id
      where b.deleted_at is null and b.activated_at is not null and (v_operator or b.organization_id is null or (b.organization_id = v_org and (b.workspace_id is null or v_ws_all or b.workspace_id = any (v_ws))))
    loop
      kb_id := v_id;
      chunk_ids := null;
      distances := null;
      if v_language is not null then
        select array_agg(l.stored), array_agg(l.df), string_agg('''' || replace(replace(l.stored, '\', '\\'), '''', '''''') || '''', ' | ') filter (where l.df <= 0.3 * v_count)::tsquery,
               string_agg('''' || replace(replace(l.stored, '\', '\\'), '''', '''''') || '''', ' | ')::tsquery, sum(l.df) filter (where l.df <= 0.3 * v_count)
          into v_lexemes, document_frequencies, v_rare, v_every, v_rare_df
          from (
            select v_prefix || w.lexeme as stored, coalesce((select t.df from knowledge_terms t where t.kb_id = v_id and t.lexeme = w.lexeme), 0) as df
            from jsonb_array_elements_text(p_lexemes -> v_language) with ordinality w(lexeme, at) order by w.at
          ) l;
        if v_rare_df > 50000 then
          select string_agg('''' || replace(replace(l.stored, '\', '\\'), '''', '''''') || '''', ' | ')::tsquery, sum(l.df) into v_rare, v_rare_df
            from (
              select w.stored, w.df, sum(w.df) over rarest as total, row_number() over rarest as place
              from unnest(v_lexemes, document_frequencies) with ordinality w(stored, df, at)
              where w.df <= 0.3 * v_count window rarest as (order by w.df, w.at)
            ) l
            where l.place = 1 or l.total <= 50000;
        end if;
        -- The best 250 of the rare lexemes, all of theirs, and the same of every lexeme.
        foreach v_try in array case when v_rare is null then '{}' when v_is_narrow then '{2}' when v_rare_df > 250 then '{1,2}' else '{2}' end::int[]
          || case when v_every is not distinct from v_rare then '{}' when v_is_narrow then '{4}' else '{3,4}' end::int[]
        loop
          v_query := case when v_try <= 2 then v_rare else v_every end;
          if v_is_narrow then
          
          select string_agg(m.lex_len::text, ','), json_agg(ts_filter(setweight(m.lexemes, 'A', v_lexemes), '{a}')::text)::text, string_agg(m.id::text, ','), string_agg(date_part('epoch', m.used_at)::text, ',') filter (where p_has_use), count(*)
          into lexeme_counts, matched, chunk_ids, used_at, v_found
          from (
            select c.id, coalesce(i.last_used_at, i.created_at) as used_at, c.lex_len, c.lexemes
            from (
              select s.id, s.item_id, s.lex_len, s.lexemes, ts_rank(s.lexemes, v_query, 1) as rank
              from (
                select k.id, k.item_id, k.lex_len, k.lexemes from knowledge_chunks k
                where k.lexemes @@ v_query and k.kb_id is not distinct from v_id limit case when v_try in (1, 3) then 50000 end
              ) s
              order by rank desc, s.id limit case when v_try in (1, 3) then 250 end
            ) c join knowledge_items i on i.id = c.item_id
            where i.kb_id is not distinct from v_id and i.deleted_at is null and i.staged_run_id is null and i.curation_state = any (v_states) and (v_operator or i.organization_id is null or (i.organization_id = v_org and (i.workspace_id is null or v_ws_all or i.workspace_id = any (v_ws)))) and knowledge_passes(i, p_filter)
            order by c.rank desc, c.id limit 200
          ) m;
        else
          
          select string_agg(m.lex_len::text, ','), json_agg(ts_filter(setweight(m.lexemes, 'A', v_lexemes), '{a}')::text)::text, string_agg(m.id::text, ','), string_agg(date_part('epoch', m.used_at)::text, ',') filter (where p_has_use), count(*)
          into lexeme_counts, matched, chunk_ids, used_at, v_found
          from (
            select c.id, coalesce(i.last_used_at, i.created_at) as used_at, c.lex_len, c.lexemes
            from (
              select s.id, s.item_id, s.lex_len, s.lexemes, ts_rank(s.lexemes, v_query, 1) as rank
              from (
                select k.id, k.item_id, k.lex_len, k.lexemes from knowledge_chunks k
                where k.lexemes @@ v_query and k.kb_id is not distinct from v_id limit case when v_try in (1, 3) then 50000 end
              ) s
              order by rank desc, s.id limit case when v_try in (1, 3) then 250 end
            ) c join knowledge_items i on i.id = c.item_id
            where i.kb_id is not distinct from v_id and i.deleted_at is null and i.staged_run_id is null and i.curation_state = any (v_states) and (v_operator or i.organization_id is null or (i.organization_id = v_org and (i.workspace_id is null or v_ws_all or i.workspace_id = any (v_ws)))) and (v_valid_at is null or (i.valid_from is null or i.valid_from <= v_valid_at) and (i.valid_until is null or i.valid_until > v_valid_at))
            order by c.rank desc, c.id limit 200
          ) m;
        end if;
          if v_found > 0 then return next; end if;
          exit when v_found = 200;
        end loop;
        continue when v_if_empty and chunk_ids is not null;
        lexeme_counts := null;
        matched := null;
        document_frequencies := null;
      end if;
      continue when v_embedding_no is null;

      v_embedding := p_embeddings[v_embedding_no]::halfvec;
      v_chunks := null;
      if v_use_index then
        -- An index that failed to build is not valid.
        v_use_index := exists (select from pg_index x join pg_class k on k.oid = x.indexrelid
          where k.relname = 'knowledge_vectors_hnsw_' || replace(v_id::text, '-', '') and k.relnamespace = 'public'::regnamespace and x.indisvalid);
      end if;
      foreach v_way in array case
        when v_is_narrow and v_use_index then array['near', 'few', 'index', 'whole']
        when v_is_narrow then array['few', 'whole']
        when v_use_index then array['index', 'few', 'whole']
        when v_count > 250 then array['top', 'few', 'whole']
        else array['whole'] end
      loop
        if v_way in ('near', 'index') then
          continue when v_chunks <= 20000;
          perform set_config('hnsw.ef_search', '200', true), set_config('hnsw.iterative_scan', 'strict_order', true),
            set_config('hnsw.max_scan_tuples', case when v_way = 'near' then '2000' else '20000' end, true);
          if current_setting('hnsw.ef_search') <> '200' or current_setting('hnsw.iterative_scan') <> 'strict_order' then
            raise exception 'the settings of the index scan are not in force';
          end if;
          execute format($q$
            select string_agg(m.distance::text, ','), string_agg(m.id::text, ','), string_agg(date_part('epoch', m.used_at)::text, ',') filter (where $11), count(*) from (
              select v.chunk_id as id, coalesce(i.last_used_at, i.created_at) as used_at, (v.embedding::halfvec(%1$s) <=> $10::halfvec(%1$s)) as distance
              from knowledge_vectors v cross join lateral (
                select i.last_used_at, i.created_at from knowledge_items i where i.id = coalesce(v.item_id, (select c.item_id from knowledge_chunks c where c.id = v.chunk_id)) and i.kb_id is not distinct from $5 and i.deleted_at is null and i.staged_run_id is null and i.curation_state = any ($6) and ($1 or i.organization_id is null or (i.organization_id = $2 and (i.workspace_id is null or $3 or i.workspace_id = any ($4)))) and ($9 is null or (i.valid_from is null or i.valid_from <= $9) and (i.valid_until is null or i.valid_until > $9)) and (not $8 or knowledge_passes(i, $7)) offset 0
              ) i
              where v.kb_id = %2$L
              order by v.embedding::halfvec(%1$s) <=> $10::halfvec(%1$s) limit 200
            ) m$q$, v_dim, v_id) into distances, chunk_ids, used_at, v_found using v_operator, v_org, v_ws_all, v_ws, v_id, v_states, p_filter, v_is_narrow, v_valid_at, v_embedding, p_has_use;
        elsif v_way = 'few' then
          -- Planned for these filters: by the indexes of tags and sources, else it reads each item of the base.
          execute $q$
            select array_agg(p.id), sum(p.chunk_count) from (
              select i.id, i.chunk_count from knowledge_items i where i.kb_id = $5 and i.deleted_at is null and i.staged_run_id is null and i.curation_state = any ($6) and ($1 or i.organization_id is null or (i.organization_id = $2 and (i.workspace_id is null or $3 or i.workspace_id = any ($4)))) and ($9 is null or (i.valid_from is null or i.valid_from <= $9) and (i.valid_until is null or i.valid_until > $9)) and (not $8 or knowledge_passes(i, $7)) and ($7 -> 'tags_any' is null or i.tags <> '{}' and i.tags && (knowledge_texts($7 -> 'tags_any'))) and ($7 -> 'tags_all' is null or i.tags <> '{}' and i.tags @> (knowledge_texts($7 -> 'tags_all'))) and ($7 -> 'source_ids' is null or i.source_id = any (knowledge_texts($7 -> 'source_ids')::uuid[])) limit 20000 + 1
            ) p$q$ into v_items, v_chunks using v_operator, v_org, v_ws_all, v_ws, v_id, v_states, p_filter, v_is_narrow, v_valid_at;
          if cardinality(v_items) > 20000 then v_chunks := greatest(v_chunks, 20000 + 1); end if;
          continue when v_chunks > 20000 or 10 * v_chunks > v_count;
          select string_agg(m.distance::text, ','), string_agg(m.id::text, ','), string_agg(date_part('epoch', m.used_at)::text, ',') filter (where p_has_use), count(*) into distances, chunk_ids, used_at, v_found from (
            select v.chunk_id as id, coalesce(i.last_used_at, i.created_at) as used_at, v.embedding <=> v_embedding as distance
            from unnest(v_items) s(id) join knowledge_items i on i.id = s.id join knowledge_chunks c on c.item_id = s.id join knowledge_vectors v on v.chunk_id = c.id
            order by 3, 1 limit 200
          ) m;
          v_found := 200;
        else
        if v_is_narrow then
          
            select string_agg(m.distance::text, ','), string_agg(m.id::text, ','), string_agg(date_part('epoch', m.used_at)::text, ',') filter (where p_has_use), count(*) into distances, chunk_ids, used_at, v_found from (
              select n.chunk_id as id, coalesce(i.last_used_at, i.created_at) as used_at, n.distance
              from (
                select v.chunk_id, v.embedding <=> v_embedding as distance, v.item_id from knowledge_vectors v where v.kb_id = v_id
                order by 2, 1 limit case when v_way = 'top' then 250 end
              ) n cross join lateral (
                select i.last_used_at, i.created_at from knowledge_items i where i.id = coalesce(n.item_id, (select c.item_id from knowledge_chunks c where c.id = n.chunk_id)) and i.kb_id is not distinct from v_id and i.deleted_at is null and i.staged_run_id is null and i.curation_state = any (v_states) and (v_operator or i.organization_id is null or (i.organization_id = v_org and (i.workspace_id is null or v_ws_all or i.workspace_id = any (v_ws)))) and knowledge_passes(i, p_filter) offset 0
              ) i
              order by n.distance, n.chunk_id limit 200
            ) m;
        else
          
            select string_agg(m.distance::text, ','), string_agg(m.id::text, ','), string_agg(date_part('epoch', m.used_at)::text, ',') filter (where p_has_use), count(*) into distances, chunk_ids, used_at, v_found from (
              select n.chunk_id as id, coalesce(i.last_used_at, i.created_at) as used_at, n.distance
              from (
                select v.chunk_id, v.embedding <=> v_embedding as distance, v.item_id from knowledge_vectors v where v.kb_id = v_id
                order by 2, 1 limit case when v_way = 'top' then 250 end
              ) n cross join lateral (
                select i.last_used_at, i.created_at from knowledge_items i where i.id = coalesce(n.item_id, (select c.item_id from knowledge_chunks c where c.id = n.chunk_id)) and i.kb_id is not distinct from v_id and i.deleted_at is null and i.staged_run_id is null and i.curation_state = any (v_states) and (v_operator or i.organization_id is null or (i.organization_id = v_org and (i.workspace_id is null or v_ws_all or i.workspace_id = any (v_ws)))) and (v_valid_at is null or (i.valid_from is null or i.valid_from <= v_valid_at) and (i.valid_until is null or i.valid_until > v_valid_at)) offset 0
              ) i
              order by n.distance, n.chunk_id limit 200
            ) m;
        end if;
        end if;
        if chunk_ids is not null then return next; end if;
        exit when v_found = 200;
      end loop;
    end loop;
  end
$gate$;
revoke all on function gate_knowledge_legs(jsonb,jsonb,text[],jsonb,boolean) from public;
grant execute on function gate_knowledge_legs(jsonb,jsonb,text[],jsonb,boolean) to longhaul_app;
reset role;
revoke create on schema public from longhaul_gate;
-- Whoever asks for the legs names the prefix of the lexemes.
drop function knowledge_lexemes(int, text[]);
