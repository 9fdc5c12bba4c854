import type { GateSet } from '../identity/gate-parts.sql.ts';

const functions = ['gate_knowledge_candidates(jsonb,jsonb,jsonb)', 'gate_knowledge_nearest(jsonb,text[],jsonb)'] as const;

const grants: GateSet['grants'] = {
  knowledge_bases: ['select'],
  knowledge_items: ['select'],
  knowledge_chunks: ['select'],
  knowledge_terms: ['select'],
  knowledge_vectors: ['select'],
};

/** Chunks that a leg gives of a base. */
const wanted = 200;
/** Chunks that are ranked first, before those that filters drop are known: a few more, so that a second try is rare. */
const ranked = 250;
/** Chunks that lexemes may put up for ranking: what more of them would add, the rarer ones have already. */
const maxRanked = 50_000;
/** Chunks of the index that a first try reads: enough where a tenth of them is shown, and no loss where fewer are. */
const maxTried = 2_000;
/** Chunks that are compared one by one; above it an index over the vectors serves. */
const maxCompared = 20_000;

/** How the tenant, the base and the filters of a search are called in a statement. */
interface Names {
  readonly operator: string;
  readonly organization: string;
  readonly allWorkspaces: string;
  readonly workspaces: string;
  readonly base: string;
  readonly states: string;
  readonly filter: string;
  readonly isNarrow: string;
  readonly validAt: string;
}

const variables: Names = {
  operator: 'v_operator',
  organization: 'v_org',
  allWorkspaces: 'v_ws_all',
  workspaces: 'v_ws',
  base: 'v_base.id',
  states: 'v_base.states',
  filter: 'p_filter',
  isNarrow: 'v_is_narrow',
  validAt: 'v_valid_at',
};
const parameters: Names = {
  operator: '$1',
  organization: '$2',
  allWorkspaces: '$3',
  workspaces: '$4',
  base: '$5',
  states: '$6',
  filter: '$7',
  isNarrow: '$8',
  validAt: '$9',
};
const given = Object.values(variables).join(', ');

const inTenant = (alias: string, { operator, organization, allWorkspaces, workspaces }: Names) =>
  `(${operator} or ${alias}.organization_id is null or (${alias}.organization_id = ${organization} and (${alias}.workspace_id is null or ${allWorkspaces} or ${alias}.workspace_id = any (${workspaces}))))`;

/** Valid at the time of the search. */
const isValid = ({ validAt }: Names) =>
  `(${validAt} is null or (i.valid_from is null or i.valid_from <= ${validAt}) and (i.valid_until is null or i.valid_until > ${validAt}))`;

/** Every search has a time, and most have no other filter: those are spared what the others cost, for each item and for each statement that begins. */
const isPassed = (names: Names) => `${isValid(names)} and (not ${names.isNarrow} or knowledge_passes(i, ${names.filter}))`;

/** A statement of both kinds: `of` gets the condition of the filters. */
const byFilters = (of: (isPassed: string) => string) => `if v_is_narrow then
          return query ${of(`knowledge_passes(i, ${variables.filter})`)};
        else
          return query ${of(isValid(variables))};
        end if;`;

/** An item that a search shows: of the tenant, live, in a state that is asked for, and past the filters. */
const isShown = (names: Names, passes = isPassed(names)) =>
  `i.deleted_at is null and i.staged_run_id is null and i.curation_state = any (${names.states}) and ${inTenant('i', names)} and ${passes}`;

/** What filters say once more, as indexes of items serve it where their values are known to the planner. */
const isIndexed = ({ filter }: Names) =>
  [
    ['tags_any', "i.tags <> '{}' and i.tags &&", ''],
    ['tags_all', "i.tags <> '{}' and i.tags @>", ''],
    ['source_ids', 'i.source_id = any', '::uuid[]'],
  ]
    .map(([name, compares, type]) => `(${filter} -> '${name}' is null or ${compares} (knowledge_texts(${filter} -> '${name}')${type}))`)
    .join(' and ');

/** As `isShown`, for a chunk whose item is looked up by its id. No index serves this comparison of bases: the planner can't come by the base's items. */
const isShownByChunk = (names: Names, passes = isPassed(names)) =>
  `i.kb_id is not distinct from ${names.base} and ${isShown(names, passes)}`;

const basesAsked = (columns: string, asked: string) => `
      select b.id, b.lex_no, ${columns}
      from jsonb_to_recordset(p_bases) as g(${asked})
      join knowledge_bases b on b.id = g.kb_id
      where b.deleted_at is null and b.activated_at is not null and ${inTenant('b', variables)}`;

/**
 * One plan for bases of every size, whatever the planner thinks of its predicates: by indexes, in the order in which the joins are written, and in loops that
 * keep the order of what they begin with, so that they end with the 200th. Workers in parallel take longer to start than most of these scans.
 */
const pinned = [
  ...['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'enable_sort'].map((name) => `set ${name} = off`),
  'set join_collapse_limit = 1 set max_parallel_workers_per_gather = 0 set plan_cache_mode = force_generic_plan',
].join(' ');

const declared = `
    v_operator boolean := app_operator();
    v_org uuid := app_org();
    v_ws_all boolean := app_ws_all();
    v_ws uuid[] := app_ws();
    v_base record;
    v_found int;
    -- Filters that may drop most items; a time of validity seldom does.
    v_is_narrow boolean := p_filter - 'valid_at' <> '{}';
    v_valid_at timestamptz := p_filter ->> 'valid_at';`;

/**
 * The lexical leg. `p_bases`: [{kb_id, chunk_count, language, states}]; `p_lexemes`: {language: [lexeme]}; `p_filter`: see `knowledge_passes`. `matched`
 * holds the query's lexemes with their positions in the chunk, as the text of a tsvector.
 *
 * `kb_id` of chunks is compared by `is not distinct from`, which no index serves, and sequential scans are off: what remains is a bitmap scan of the lexemes,
 * which hold the base's number anyway. Lexemes in over 30 % of a base's chunks, and those beyond the rarest that together are in 50,000, generate no candidates
 * unless the others give fewer than 200. Of a lexeme in more than that 50,000 chunks are ranked, and all only where filters leave fewer than 200 of them.
 */
const candidates = `create or replace function gate_knowledge_candidates(p_bases jsonb, p_lexemes jsonb, p_filter jsonb)
  returns table (kb_id uuid, chunk_id uuid, used_at timestamptz, lexeme_count int, matched text, document_frequencies int[])
  language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp ${pinned} as $gate$
  declare${declared}
    v_prefix text;
    v_lexemes text[];
    v_frequencies int[];
    v_rare tsquery;
    v_every tsquery;
    v_rare_df bigint;
    v_try record;
  begin
    for v_base in${basesAsked('g.chunk_count, g.language, g.states', 'kb_id uuid, chunk_count int, language text, states text[]')}
    loop
      v_prefix := (knowledge_lexemes(v_base.lex_no, '{""}'))[1];
      select array_agg(l.stored order by l.at), array_agg(l.df order by l.at),
             string_agg(l.quoted, ' | ') filter (where l.df <= 0.3 * v_base.chunk_count and (l.place = 1 or l.total <= ${maxRanked}))::tsquery,
             string_agg(l.quoted, ' | ')::tsquery,
             sum(l.df) filter (where l.df <= 0.3 * v_base.chunk_count and (l.place = 1 or l.total <= ${maxRanked}))
        into v_lexemes, v_frequencies, v_rare, v_every, v_rare_df
        from (
          select s.*, sum(s.df) over rarest as total, row_number() over rarest as place
          from (
            select l.at, v_prefix || l.lexeme as stored, '''' || replace(replace(v_prefix || l.lexeme, '\\', '\\\\'), '''', '''''') || '''' as quoted,
                   coalesce((select t.df from knowledge_terms t where t.kb_id = v_base.id and t.lexeme = l.lexeme), 0) as df
            from jsonb_array_elements_text(p_lexemes -> v_base.language) with ordinality l(lexeme, at)
          ) s window rarest as (order by s.df, s.at)
        ) l;
      for v_try in
        select t.* from (values
          (v_rare, ${ranked}, ${maxRanked}, v_rare_df > ${ranked}), (v_rare, null, null, true), (v_every, ${ranked}, ${maxRanked}, v_every is distinct from v_rare), (v_every, null, null, v_every is distinct from v_rare)
        ) as t (query, depth, scanned, is_of_use)
        where t.query is not null and t.is_of_use and (t.depth is null or not v_is_narrow)
      loop
        ${byFilters(
          (passes) => `
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
            where ${isShownByChunk(variables, passes)}
            order by c.rank desc, c.id limit ${wanted}
          ) m`,
        )}
        get diagnostics v_found = row_count;
        exit when v_found = ${wanted};
      end loop;
    end loop;
  end
$gate$`;

/** Nearest first; `distance` is how far, `from` where the vectors come from. */
const nearest = (distance: string, from: string) => `
          select v_base.id, n.chunk_id, n.used_at, n.distance from (
            select v.chunk_id, coalesce(i.last_used_at, i.created_at) as used_at, ${distance} as distance
            from ${from}
          ) n order by n.distance, n.chunk_id limit ${wanted}`;

/**
 * The vector leg: the 200 nearest of each base, with their cosine distance. `p_bases`: [{kb_id, dim, embedding (which of `p_embeddings`, from 1), chunk_count,
 * use_index, states}]; `p_filter`: see `knowledge_passes`. The nearest of all are taken, by the base's index (each base with its own plan and its id as a
 * literal, since a generic plan never uses a partial index) or by comparing all, and do where 200 of them are shown: narrow filters let the index try that
 * on 2,000. Else the items that are shown are counted: those of up to 20,000 chunks are compared themselves, if they are few in the base; of more the index
 * gives the nearest. What remains is the scan of the whole base. Where one of these gives fewer than 200 the next follows, so that some chunks come twice.
 */
const nearestChunks = `create or replace function gate_knowledge_nearest(p_bases jsonb, p_embeddings text[], p_filter jsonb)
  returns table (kb_id uuid, chunk_id uuid, used_at timestamptz, distance double precision)
  language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp ${pinned} as $gate$
  declare${declared}
    v_embedding halfvec;
    v_items uuid[];
    v_chunks bigint;
    v_way text;
  begin
    for v_base in${basesAsked(
      'g.dim, g.embedding, g.chunk_count, g.use_index, g.states',
      'kb_id uuid, dim int, embedding int, chunk_count int, use_index boolean, states text[]',
    )}
    loop
      v_embedding := p_embeddings[v_base.embedding]::halfvec;
      v_items := null;
      v_found := 0;
      foreach v_way in array case
        when v_is_narrow and v_base.use_index then array['near', 'few', 'index', 'whole']
        when v_is_narrow then array['few', 'whole']
        when v_base.use_index then array['index', 'few', 'whole']
        when v_base.chunk_count > ${ranked} then array['top', 'few', 'whole']
        else array['whole'] end
      loop
        if v_way in ('near', 'index') then
          continue when v_chunks <= ${maxCompared};
          perform set_config('hnsw.ef_search', '${wanted}', true), set_config('hnsw.iterative_scan', 'strict_order', true),
            set_config('hnsw.max_scan_tuples', case when v_way = 'near' then '${maxTried}' else '${maxCompared}' end, true);
          if current_setting('hnsw.ef_search') <> '${wanted}' or current_setting('hnsw.iterative_scan') <> 'strict_order' then
            raise exception 'the settings of the index scan are not in force';
          end if;
          return query execute format($q$
            select v.kb_id, v.chunk_id, coalesce(i.last_used_at, i.created_at), (v.embedding::halfvec(%1$s) <=> $10::halfvec(%1$s))
            from knowledge_vectors v join knowledge_chunks c on c.id = v.chunk_id join knowledge_items i on i.id = c.item_id
            where v.kb_id = %2$L and ${isShownByChunk(parameters)}
            order by v.embedding::halfvec(%1$s) <=> $10::halfvec(%1$s) limit ${wanted}$q$, v_base.dim, v_base.id) using ${given}, v_embedding;
        elsif v_way = 'few' then
          -- Planned for these filters: by the indexes of tags and sources, else it reads each item of the base.
          execute $q$
            select array_agg(p.id), sum(p.chunk_count) from (
              select i.id, i.chunk_count from knowledge_items i where i.kb_id = ${parameters.base} and ${isShown(parameters)} and ${isIndexed(parameters)} limit ${maxCompared} + 1
            ) p$q$ into v_items, v_chunks using ${given};
          if cardinality(v_items) > ${maxCompared} then v_chunks := greatest(v_chunks, ${maxCompared} + 1); end if;
          continue when v_chunks > ${maxCompared} or 10 * v_chunks > v_base.chunk_count;
          return query${nearest(
            'v.embedding <=> v_embedding',
            'unnest(v_items) s(id) join knowledge_items i on i.id = s.id join knowledge_chunks c on c.item_id = s.id join knowledge_vectors v on v.chunk_id = c.id',
          )};
          exit;
        else
        ${byFilters(
          (passes) => `
            select v_base.id, n.chunk_id, coalesce(i.last_used_at, i.created_at), n.distance
            from (
              select v.chunk_id, v.embedding <=> v_embedding as distance from knowledge_vectors v where v.kb_id = v_base.id
              order by 2, 1 limit case when v_way = 'top' then ${ranked} end
            ) n join knowledge_chunks c on c.id = n.chunk_id join knowledge_items i on i.id = c.item_id
            where ${isShownByChunk(variables, passes)}
            order by n.distance, n.chunk_id limit ${wanted}`,
        )}
        end if;
        get diagnostics v_found = row_count;
        exit when v_found = ${wanted};
      end loop;
    end loop;
  end
$gate$`;

/**
 * The legs of a search. The match operator is not leakproof, so the policies of longhaul_app keep PostgreSQL from the GIN index, and they would be asked for
 * each vector that is compared; those of longhaul_gate are `true`, and the tenant and live predicates stand here once more. What is found is read as
 * longhaul_app, whose policies have the last word. Plans are kept with the connection: planning takes
 * as long as a search of a small base. Chunks are ranked before their items are looked up.
 */
export const candidateGates: GateSet = { functions, grants, sql: [candidates, nearestChunks] };
