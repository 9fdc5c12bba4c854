-- Searches without a filter but their time read nothing out of the filters' JSON for each item; those with narrow ones find items by an index.
grant create on schema public to longhaul_gate;
set local role longhaul_gate;
create or replace function gate_knowledge_candidates(p_bases jsonb, p_lexemes jsonb, p_filter jsonb)
  returns table (kb_id uuid, chunk_id uuid, used_at timestamptz, lexeme_count int, matched text, document_frequencies int[])
  language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off set join_collapse_limit = 1 set max_parallel_workers_per_gather = 0 set plan_cache_mode = force_generic_plan as $gate$
  declare
    v_operator boolean := app_operator();
    v_org uuid := app_org();
    v_ws_all boolean := app_ws_all();
    v_ws uuid[] := app_ws();
    v_base record;
    v_found int;
    -- Filters that may drop most items; a time of validity seldom does.
    v_is_narrow boolean := p_filter - 'valid_at' <> '{}';
    v_valid_at timestamptz := p_filter ->> 'valid_at';
    v_prefix text;
    v_lexemes text[];
    v_frequencies int[];
    v_rare tsquery;
    v_every tsquery;
    v_rare_df bigint;
    v_try record;
  begin
    for v_base in
      select b.id, b.lex_no, g.chunk_count, g.language, g.states
      from jsonb_to_recordset(p_bases) as g(kb_id uuid, chunk_count int, language text, states text[])
      join knowledge_bases b on b.id = g.kb_id
      where b.deleted_at is null and b.activated_at is not null and (v_operator or b.organization_id is null or (b.organization_id = v_org and (b.workspace_id is null or v_ws_all or b.workspace_id = any (v_ws))))
    loop
      v_prefix := (knowledge_lexemes(v_base.lex_no, '{""}'))[1];
      select array_agg(l.stored order by l.at), array_agg(l.df order by l.at),
             string_agg(l.quoted, ' | ') filter (where l.df <= 0.3 * v_base.chunk_count and (l.place = 1 or l.total <= 50000))::tsquery,
             string_agg(l.quoted, ' | ')::tsquery,
             sum(l.df) filter (where l.df <= 0.3 * v_base.chunk_count and (l.place = 1 or l.total <= 50000))
        into v_lexemes, v_frequencies, v_rare, v_every, v_rare_df
        from (
          select s.*, sum(s.df) over rarest as total, row_number() over rarest as place
          from (
            select l.at, v_prefix || l.lexeme as stored, '''' || replace(replace(v_prefix || l.lexeme, '\', '\\'), '''', '''''') || '''' as quoted,
                   coalesce((select t.df from knowledge_terms t where t.kb_id = v_base.id and t.lexeme = l.lexeme), 0) as df
            from jsonb_array_elements_text(p_lexemes -> v_base.language) with ordinality l(lexeme, at)
          ) s window rarest as (order by s.df, s.at)
        ) l;
      for v_try in
        select t.* from (values
          (v_rare, 250, 50000, v_rare_df > 250), (v_rare, null, null, true), (v_every, 250, 50000, v_every is distinct from v_rare), (v_every, null, null, v_every is distinct from v_rare)
        ) as t (query, depth, scanned, is_of_use)
        where t.query is not null and t.is_of_use and (t.depth is null or not v_is_narrow)
      loop
        if v_is_narrow then
          return query 
          select v_base.id, m.id, m.used_at, m.lex_len, ts_filter(setweight(m.lexemes, 'A', v_lexemes), '{a}')::text, v_frequencies
          from (
            select c.id, coalesce(i.last_used_at, i.created_at) as used_at, c.lex_len, c.lexemes
            from (
              select s.id, s.item_id, s.lex_len, s.lexemes, ts_rank(s.lexemes, v_try.query, 1) as rank
              from (
                select k.id, k.item_id, k.lex_len, k.lexemes from knowledge_chunks k
                where k.lexemes @@ v_try.query and k.kb_id is not distinct from v_base.id limit v_try.scanned
              ) s
              order by rank desc, s.id limit v_try.depth
            ) c join knowledge_items i on i.id = c.item_id
            where i.kb_id is not distinct from v_base.id and i.deleted_at is null and i.staged_run_id is null and i.curation_state = any (v_base.states) and (v_operator or i.organization_id is null or (i.organization_id = v_org and (i.workspace_id is null or v_ws_all or i.workspace_id = any (v_ws)))) and knowledge_passes(i, p_filter)
            order by c.rank desc, c.id limit 200
          ) m;
        else
          return query 
          select v_base.id, m.id, m.used_at, m.lex_len, ts_filter(setweight(m.lexemes, 'A', v_lexemes), '{a}')::text, v_frequencies
          from (
            select c.id, coalesce(i.last_used_at, i.created_at) as used_at, c.lex_len, c.lexemes
            from (
              select s.id, s.item_id, s.lex_len, s.lexemes, ts_rank(s.lexemes, v_try.query, 1) as rank
              from (
                select k.id, k.item_id, k.lex_len, k.lexemes from knowledge_chunks k
                where k.lexemes @@ v_try.query and k.kb_id is not distinct from v_base.id limit v_try.scanned
              ) s
              order by rank desc, s.id limit v_try.depth
            ) c join knowledge_items i on i.id = c.item_id
            where i.kb_id is not distinct from v_base.id and i.deleted_at is null and i.staged_run_id is null and i.curation_state = any (v_base.states) and (v_operator or i.organization_id is null or (i.organization_id = v_org and (i.workspace_id is null or v_ws_all or i.workspace_id = any (v_ws)))) and (v_valid_at is null or (i.valid_from is null or i.valid_from <= v_valid_at) and (i.valid_until is null or i.valid_until > v_valid_at))
            order by c.rank desc, c.id limit 200
          ) m;
        end if;
        get diagnostics v_found = row_count;
        exit when v_found = 200;
      end loop;
    end loop;
  end
$gate$;
create or replace function gate_knowledge_nearest(p_bases jsonb, p_embeddings text[], p_filter jsonb)
  returns table (kb_id uuid, chunk_id uuid, used_at timestamptz, distance double precision)
  language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off set join_collapse_limit = 1 set max_parallel_workers_per_gather = 0 set plan_cache_mode = force_generic_plan as $gate$
  declare
    v_operator boolean := app_operator();
    v_org uuid := app_org();
    v_ws_all boolean := app_ws_all();
    v_ws uuid[] := app_ws();
    v_base record;
    v_found int;
    -- Filters that may drop most items; a time of validity seldom does.
    v_is_narrow boolean := p_filter - 'valid_at' <> '{}';
    v_valid_at timestamptz := p_filter ->> 'valid_at';
    v_embedding halfvec;
    v_items uuid[];
    v_chunks bigint;
    v_way text;
  begin
    for v_base in
      select b.id, b.lex_no, g.dim, g.embedding, g.chunk_count, g.use_index, g.states
      from jsonb_to_recordset(p_bases) as g(kb_id uuid, dim int, embedding int, chunk_count int, use_index boolean, states text[])
      join knowledge_bases b on b.id = g.kb_id
      where b.deleted_at is null and b.activated_at is not null and (v_operator or b.organization_id is null or (b.organization_id = v_org and (b.workspace_id is null or v_ws_all or b.workspace_id = any (v_ws))))
    loop
      v_embedding := p_embeddings[v_base.embedding]::halfvec;
      v_items := null;
      v_found := 0;
      foreach v_way in array case
        when v_is_narrow and v_base.use_index then array['near', 'few', 'index', 'whole']
        when v_is_narrow then array['few', 'whole']
        when v_base.use_index then array['index', 'few', 'whole']
        when v_base.chunk_count > 250 then array['top', 'few', 'whole']
        else array['whole'] end
      loop
        if v_way in ('near', 'index') then
          continue when v_chunks <= 20000;
          perform set_config('hnsw.ef_search', '200', true), set_config('hnsw.iterative_scan', 'strict_order', true),
            set_config('hnsw.max_scan_tuples', case when v_way = 'near' then '2000' else '20000' end, true);
          if current_setting('hnsw.ef_search') <> '200' or current_setting('hnsw.iterative_scan') <> 'strict_order' then
            raise exception 'the settings of the index scan are not in force';
          end if;
          return query execute format($q$
            select v.kb_id, v.chunk_id, coalesce(i.last_used_at, i.created_at), (v.embedding::halfvec(%1$s) <=> $10::halfvec(%1$s))
            from knowledge_vectors v join knowledge_chunks c on c.id = v.chunk_id join knowledge_items i on i.id = c.item_id
            where v.kb_id = %2$L and i.kb_id is not distinct from $5 and i.deleted_at is null and i.staged_run_id is null and i.curation_state = any ($6) and ($1 or i.organization_id is null or (i.organization_id = $2 and (i.workspace_id is null or $3 or i.workspace_id = any ($4)))) and ($9 is null or (i.valid_from is null or i.valid_from <= $9) and (i.valid_until is null or i.valid_until > $9)) and (not $8 or knowledge_passes(i, $7))
            order by v.embedding::halfvec(%1$s) <=> $10::halfvec(%1$s) limit 200$q$, v_base.dim, v_base.id) using v_operator, v_org, v_ws_all, v_ws, v_base.id, v_base.states, p_filter, v_is_narrow, v_valid_at, v_embedding;
        elsif v_way = 'few' then
          -- Planned for these filters: by the indexes of tags and sources, else it reads each item of the base.
          execute $q$
            select array_agg(p.id), sum(p.chunk_count) from (
              select i.id, i.chunk_count from knowledge_items i where i.kb_id = $5 and i.deleted_at is null and i.staged_run_id is null and i.curation_state = any ($6) and ($1 or i.organization_id is null or (i.organization_id = $2 and (i.workspace_id is null or $3 or i.workspace_id = any ($4)))) and ($9 is null or (i.valid_from is null or i.valid_from <= $9) and (i.valid_until is null or i.valid_until > $9)) and (not $8 or knowledge_passes(i, $7)) and ($7 -> 'tags_any' is null or i.tags <> '{}' and i.tags && (knowledge_texts($7 -> 'tags_any'))) and ($7 -> 'tags_all' is null or i.tags <> '{}' and i.tags @> (knowledge_texts($7 -> 'tags_all'))) and ($7 -> 'source_ids' is null or i.source_id = any (knowledge_texts($7 -> 'source_ids')::uuid[])) limit 20000 + 1
            ) p$q$ into v_items, v_chunks using v_operator, v_org, v_ws_all, v_ws, v_base.id, v_base.states, p_filter, v_is_narrow, v_valid_at;
          if cardinality(v_items) > 20000 then v_chunks := greatest(v_chunks, 20000 + 1); end if;
          continue when v_chunks > 20000 or 10 * v_chunks > v_base.chunk_count;
          return query
          select v_base.id, n.chunk_id, n.used_at, n.distance from (
            select v.chunk_id, coalesce(i.last_used_at, i.created_at) as used_at, v.embedding <=> v_embedding as distance
            from unnest(v_items) s(id) join knowledge_items i on i.id = s.id join knowledge_chunks c on c.item_id = s.id join knowledge_vectors v on v.chunk_id = c.id
          ) n order by n.distance, n.chunk_id limit 200;
          exit;
        else
        if v_is_narrow then
          return query 
            select v_base.id, n.chunk_id, coalesce(i.last_used_at, i.created_at), n.distance
            from (
              select v.chunk_id, v.embedding <=> v_embedding as distance from knowledge_vectors v where v.kb_id = v_base.id
              order by 2, 1 limit case when v_way = 'top' then 250 end
            ) n join knowledge_chunks c on c.id = n.chunk_id join knowledge_items i on i.id = c.item_id
            where i.kb_id is not distinct from v_base.id and i.deleted_at is null and i.staged_run_id is null and i.curation_state = any (v_base.states) and (v_operator or i.organization_id is null or (i.organization_id = v_org and (i.workspace_id is null or v_ws_all or i.workspace_id = any (v_ws)))) and knowledge_passes(i, p_filter)
            order by n.distance, n.chunk_id limit 200;
        else
          return query 
            select v_base.id, n.chunk_id, coalesce(i.last_used_at, i.created_at), n.distance
            from (
              select v.chunk_id, v.embedding <=> v_embedding as distance from knowledge_vectors v where v.kb_id = v_base.id
              order by 2, 1 limit case when v_way = 'top' then 250 end
            ) n join knowledge_chunks c on c.id = n.chunk_id join knowledge_items i on i.id = c.item_id
            where i.kb_id is not distinct from v_base.id and i.deleted_at is null and i.staged_run_id is null and i.curation_state = any (v_base.states) and (v_operator or i.organization_id is null or (i.organization_id = v_org and (i.workspace_id is null or v_ws_all or i.workspace_id = any (v_ws)))) and (v_valid_at is null or (i.valid_from is null or i.valid_from <= v_valid_at) and (i.valid_until is null or i.valid_until > v_valid_at))
            order by n.distance, n.chunk_id limit 200;
        end if;
        end if;
        get diagnostics v_found = row_count;
        exit when v_found = 200;
      end loop;
    end loop;
  end
$gate$;
reset role;
revoke create on schema public from longhaul_gate;
