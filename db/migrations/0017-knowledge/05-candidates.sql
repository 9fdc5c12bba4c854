-- What search runs on. The functions without definer rights see what their caller sees.

-- The lexemes of a base as its chunks hold them: behind its number in base 36.
create function knowledge_lexemes(p_lex_no int, p_lexemes text[]) returns text[] language plpgsql immutable parallel safe
  set search_path = pg_catalog, pg_temp as $$
  declare
    v_prefix text := '';
    v_rest int := p_lex_no;
  begin
    loop
      v_prefix := substr('0123456789abcdefghijklmnopqrstuvwxyz', v_rest % 36 + 1, 1) || v_prefix;
      v_rest := v_rest / 36;
      exit when v_rest = 0;
    end loop;
    return array(select 'k' || v_prefix || ':' || l.lexeme from unnest(p_lexemes) with ordinality l(lexeme, at) order by l.at);
  end
$$;

-- Any of these lexemes of a base.
create function knowledge_any_of(p_lex_no int, p_lexemes text[]) returns tsquery language sql immutable parallel safe
  set search_path = pg_catalog, public, pg_temp as $$
  select string_agg('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''', ' | ')::tsquery
  from unnest(knowledge_lexemes(p_lex_no, p_lexemes)) lexeme
$$;

-- The predicate of a search's filters over items `i`, read from the parameter `p_from` of the statement that it goes into.
create function knowledge_filter(p_filter jsonb, p_from text) returns text language sql immutable parallel safe
  set search_path = pg_catalog, pg_temp as $$
  select coalesce(string_agg(' and ' || replace(predicate, '{}', p_from), ''), '') from (values
    ('kinds', 'i.kind = any (array(select jsonb_array_elements_text({} -> ''kinds'')))'),
    ('tags_any', 'i.tags && array(select jsonb_array_elements_text({} -> ''tags_any''))'),
    ('tags_all', 'i.tags @> array(select jsonb_array_elements_text({} -> ''tags_all''))'),
    ('source_ids', 'i.source_id = any (array(select jsonb_array_elements_text({} -> ''source_ids'')::uuid))'),
    ('origins', 'i.origin = any (array(select jsonb_array_elements_text({} -> ''origins'')))'),
    ('metadata', 'i.metadata @> ({} -> ''metadata'')'),
    ('created_from', 'i.created_at >= ({} ->> ''created_from'')::timestamptz'),
    ('created_to', 'i.created_at <= ({} ->> ''created_to'')::timestamptz'),
    ('valid_at', '(i.valid_from is null or i.valid_from <= ({} ->> ''valid_at'')::timestamptz) and (i.valid_until is null or i.valid_until > ({} ->> ''valid_at'')::timestamptz)')
  ) as known (name, predicate) where p_filter ->> name is not null
$$;

-- The vector leg: the 200 nearest of each base, with their cosine distance. Each base has its own plan with its id as a literal: a generic plan never uses
-- a partial index. The index serves when more than 20,000 chunks pass the filters;
-- where it gives fewer than 200 the exact scan follows, so that some come twice.
-- p_bases: [{kb_id, dim, embedding (which of p_embeddings, from 1), use_index, states}].
create function knowledge_nearest(p_bases jsonb, p_embeddings text[], p_filter jsonb)
  returns table (kb_id uuid, chunk_id uuid, used_at timestamptz, distance double precision)
  language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
  declare
    v_base record;
    v_found int;
    v_passing int;
    v_filter constant text := knowledge_filter(p_filter, '$2');
  begin
    for v_base in
      select * from jsonb_to_recordset(p_bases) as g(kb_id uuid, dim int, embedding int, use_index boolean, states text[])
    loop
      v_found := 0;
      v_passing := 20001;
      if v_base.use_index and p_filter - 'valid_at' <> '{}' then
        execute format($q$
          select count(*) from (
            select from knowledge_chunks c join knowledge_live_items i on i.id = c.item_id
            where c.kb_id = %1$L and i.kb_id = %1$L and i.curation_state = any ($1) %2$s limit 20001) passing$q$, v_base.kb_id, v_filter)
          into v_passing using v_base.states, p_filter;
      end if;
      if v_base.use_index and v_passing > 20000 then
        perform set_config('hnsw.ef_search', '200', true), set_config('hnsw.iterative_scan', 'strict_order', true);
        if current_setting('hnsw.ef_search') <> '200' or current_setting('hnsw.iterative_scan') <> 'strict_order' then
          raise exception 'the settings of the index scan are not in force';
        end if;
        return query execute format($q$
          select v.kb_id, v.chunk_id, coalesce(i.last_used_at, i.created_at), (v.embedding::halfvec(%1$s) <=> $3::halfvec(%1$s))
          from knowledge_vectors v join knowledge_chunks c on c.id = v.chunk_id join knowledge_live_items i on i.id = c.item_id
          where v.kb_id = %2$L and i.curation_state = any ($1) %3$s
          order by v.embedding::halfvec(%1$s) <=> $3::halfvec(%1$s) limit 200$q$, v_base.dim, v_base.kb_id, v_filter)
          using v_base.states, p_filter, p_embeddings[v_base.embedding]::halfvec;
        get diagnostics v_found = row_count;
      end if;
      if v_found < 200 then
        return query execute format($q$
          select n.kb_id, n.chunk_id, coalesce(i.last_used_at, i.created_at), n.distance
          from (select v.kb_id, v.chunk_id, v.embedding <=> $3 as distance from knowledge_vectors v where v.kb_id = %1$L order by 3, 2 offset 0) n
          join knowledge_chunks c on c.id = n.chunk_id join knowledge_live_items i on i.id = c.item_id
          where i.curation_state = any ($1) %2$s
          order by n.distance, n.chunk_id limit 200$q$, v_base.kb_id, v_filter)
          using v_base.states, p_filter, p_embeddings[v_base.embedding]::halfvec;
      end if;
    end loop;
  end
$$;

-- The definer function belongs to longhaul_gate. A test holds it against the code.
grant select on knowledge_bases to longhaul_gate;
create policy gate_select on knowledge_bases for select to longhaul_gate using (true);
grant select on knowledge_chunks to longhaul_gate;
create policy gate_select on knowledge_chunks for select to longhaul_gate using (true);
grant select on knowledge_items to longhaul_gate;
create policy gate_select on knowledge_items for select to longhaul_gate using (true);
grant select on knowledge_terms to longhaul_gate;
create policy gate_select on knowledge_terms for select to longhaul_gate using (true);
grant create on schema public to longhaul_gate;
set local role longhaul_gate;
create or replace function gate_knowledge_candidates(p_bases jsonb, p_lexemes jsonb, p_filter jsonb)
  returns table (kb_id uuid, chunk_id uuid, used_at timestamptz, lexeme_count int, frequencies int[], document_frequencies int[])
  language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp set enable_seqscan = off set max_parallel_workers_per_gather = 0 as $gate$
  declare
    v_operator boolean := app_operator();
    v_org uuid := app_org();
    v_ws_all boolean := app_ws_all();
    v_ws uuid[] := app_ws();
    v_base record;
    v_lexemes text[];
    v_frequencies int[];
    v_rare text[];
    v_asked text[];
    v_found int;
    v_query constant text := format($q$
      select $1, m.id, m.used_at, m.lex_len, f.frequencies, $4
      from (
        select c.id, coalesce(i.last_used_at, i.created_at) as used_at, c.lex_len, c.lexemes
        from (
          select c.id, c.item_id, c.lex_len, c.lexemes, ts_rank(c.lexemes, $5, 1) as rank from knowledge_chunks c
          where c.lexemes @@ $5 and c.kb_id is not distinct from $1
            and ($6 or c.organization_id is null or (c.organization_id = $7 and (c.workspace_id is null or $8 or c.workspace_id = any ($9))))
          order by rank desc, c.id offset 0
        ) c join knowledge_items i on i.id = c.item_id
        where i.kb_id is not distinct from $1 and i.deleted_at is null and i.staged_run_id is null and i.curation_state = any ($2) %s
        order by c.rank desc, c.id limit 200
      ) m cross join lateral (
        select array_agg(case when u.lexeme is null then 0 else greatest(cardinality(u.positions), 1) end order by l.at) as frequencies
        from unnest($10) with ordinality l(lexeme, at) left join unnest(m.lexemes) u on u.lexeme = l.lexeme
      ) f$q$, knowledge_filter(p_filter, '$3'));
  begin
    for v_base in
      select b.id, b.lex_no, g.chunk_count, g.language, g.states
      from jsonb_to_recordset(p_bases) as g(kb_id uuid, chunk_count int, language text, states text[])
      join knowledge_bases b on b.id = g.kb_id
      where b.deleted_at is null and b.activated_at is not null and (v_operator or b.organization_id is null or (b.organization_id = v_org and (b.workspace_id is null or v_ws_all or b.workspace_id = any (v_ws))))
    loop
      select array_agg(l.lexeme order by l.at), array_agg(coalesce(t.df, 0) order by l.at),
             array_agg(l.lexeme order by l.at) filter (where coalesce(t.df, 0) <= 0.3 * v_base.chunk_count)
        into v_lexemes, v_frequencies, v_rare
        from jsonb_array_elements_text(p_lexemes -> v_base.language) with ordinality l(lexeme, at)
        left join knowledge_terms t on t.kb_id = v_base.id and t.lexeme = l.lexeme;
      v_asked := coalesce(v_rare, v_lexemes);
      while v_asked is not null loop
        return query execute v_query
          using v_base.id, v_base.states, p_filter, v_frequencies, knowledge_any_of(v_base.lex_no, v_asked),
                v_operator, v_org, v_ws_all, v_ws, knowledge_lexemes(v_base.lex_no, v_lexemes);
        get diagnostics v_found = row_count;
        v_asked := case when v_found < 200 and cardinality(v_asked) < cardinality(v_lexemes) then v_lexemes end;
      end loop;
    end loop;
  end
$gate$;
revoke all on function gate_knowledge_candidates(jsonb,jsonb,jsonb) from public;
grant execute on function gate_knowledge_candidates(jsonb,jsonb,jsonb) to longhaul_app;
reset role;
revoke create on schema public from longhaul_gate;
