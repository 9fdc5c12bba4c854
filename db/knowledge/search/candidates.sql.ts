import type { DefinerFunctions } from '../../identity/lookup/lookup-parts.sql.ts';

const functions = ['gate_knowledge_legs(jsonb,jsonb,text[],jsonb,boolean)'] as const;

const grants: DefinerFunctions['grants'] = {
  knowledge_bases: ['select'],
  knowledge_items: ['select'],
  knowledge_chunks: ['select'],
  knowledge_terms: ['select'],
  knowledge_vectors: ['select'],
};

/** Maximum number of chunks that a leg returns for a base. */
const wanted = 200;
/** Chunks that are ranked first, before the filters are applied: slightly more than wanted, so that a second try is rare. */
const ranked = 250;
/** Maximum number of chunks that lexemes may put up for ranking: beyond it, the rarer lexemes have already found whatever the others would add. */
const maxRanked = 50_000;
/** Chunks of the index that a first try reads: enough when a tenth of them is shown, and no loss when fewer are. */
const maxTried = 2_000;
/** Maximum number of chunks that are compared one by one; above it an index over the vectors is used. */
const maxCompared = 20_000;

/** The names of a search's tenant, base and filters within a statement. */
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
  base: 'v_id',
  states: 'v_states',
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

/** Condition: the item is valid at the time of the search. */
const isValid = ({ validAt }: Names) =>
  `(${validAt} is null or (i.valid_from is null or i.valid_from <= ${validAt}) and (i.valid_until is null or i.valid_until > ${validAt}))`;

/** Every search has a time, and most have no other filter: they skip the cost of the other filters, for each item and for each statement that begins. */
const isPassed = (names: Names) => `${isValid(names)} and (not ${names.isNarrow} or knowledge_passes(i, ${names.filter}))`;

/** A statement in two variants, for narrow filters and for none: `of` receives the filters' condition. */
const byFilters = (of: (isPassed: string) => string) => `if v_is_narrow then
          ${of(`knowledge_passes(i, ${variables.filter})`)};
        else
          ${of(isValid(variables))};
        end if;`;

/** Condition: a search shows the item. It is in the tenant, live, in a requested state, and passes the filters. */
const isShown = (names: Names, passes = isPassed(names)) =>
  `i.deleted_at is null and i.staged_run_id is null and i.curation_state = any (${names.states}) and ${inTenant('i', names)} and ${passes}`;

/** Repeats filters in a form that indexes of items can serve when the planner knows their values. */
const isIndexed = ({ filter }: Names) =>
  [
    ['tags_any', "i.tags <> '{}' and i.tags &&", ''],
    ['tags_all', "i.tags <> '{}' and i.tags @>", ''],
    ['source_ids', 'i.source_id = any', '::uuid[]'],
  ]
    .map(([name, compares, type]) => `(${filter} -> '${name}' is null or ${compares} (knowledge_texts(${filter} -> '${name}')${type}))`)
    .join(' and ');

/** Like `isShown`, for a chunk whose item is looked up by its id. No index serves this comparison of bases, so a plan cannot start from the base's items. */
const isShownByChunk = (names: Names, passes = isPassed(names)) =>
  `i.kb_id is not distinct from ${names.base} and ${isShown(names, passes)}`;

/**
 * Pins one plan for bases of every size, whatever the planner estimates for its predicates: by indexes, in the written order of joins, and in loops that
 * keep the order of their input, so that they end with the 200th. Starting parallel workers takes longer than most of these scans.
 */
const pinned = [
  ...['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'enable_sort'].map((name) => `set ${name} = off`),
  'set join_collapse_limit = 1 set max_parallel_workers_per_gather = 0 set plan_cache_mode = force_generic_plan',
].join(' ');

/** The columns about the chunks `m` that a try has found: lists of equal length, as texts, since reading one row per chunk takes longer than finding it. */
const foundColumns = `string_agg(m.id::text, ','), string_agg(date_part('epoch', m.used_at)::text, ',') filter (where p_has_use), count(*)`;
const foundInto = 'chunk_ids, used_at, v_found';

/** The item of a vector. A vector written before the column existed has to look up its chunk. */
const itemOf = (vector: string) =>
  `coalesce(${vector}.item_id, (select c.item_id from knowledge_chunks c where c.id = ${vector}.chunk_id))`;

const quoted = (lexeme: string) => `'''' || replace(replace(${lexeme}, '\\', '\\\\'), '''', '''''') || ''''`;

/** The query's lexemes as the base stores them, with their frequencies, and the lexemes by which candidates are searched. */
const lexemesOfBase = `
        select array_agg(l.stored), array_agg(l.df), string_agg(${quoted('l.stored')}, ' | ') filter (where l.df <= 0.3 * v_count)::tsquery,
               string_agg(${quoted('l.stored')}, ' | ')::tsquery, sum(l.df) filter (where l.df <= 0.3 * v_count)
          into v_lexemes, document_frequencies, v_rare, v_every, v_rare_df
          from (
            select v_prefix || w.lexeme as stored, coalesce((select t.df from knowledge_terms t where t.kb_id = v_id and t.lexeme = w.lexeme), 0) as df
            from jsonb_array_elements_text(p_lexemes -> v_language) with ordinality w(lexeme, at) order by w.at
          ) l;
        if v_rare_df > ${maxRanked} then
          select string_agg(${quoted('l.stored')}, ' | ')::tsquery, sum(l.df) into v_rare, v_rare_df
            from (
              select w.stored, w.df, sum(w.df) over rarest as total, row_number() over rarest as place
              from unnest(v_lexemes, document_frequencies) with ordinality w(stored, df, at)
              where w.df <= 0.3 * v_count window rarest as (order by w.df, w.at)
            ) l
            where l.place = 1 or l.total <= ${maxRanked};
        end if;`;

/**
 * The legs of a search over some bases: up to 200 chunks by words, and the 200 nearest with their cosine distance. `p_bases`: [{kb_id, chunk_count, states,
 * language and prefix (null: not by words), dim and embedding (index into `p_embeddings`, from 1; null: not by meaning), use_index (use the index over its
 * vectors, if it has one), if_empty (by meaning only where words find nothing)}]; `p_lexemes`: {language: [lexeme]}, which a base prefixes with its own
 * prefix; `p_filter`: see `knowledge_passes`; `p_has_use`: whether the last use of items matters. Returns a row for each try of a leg in a base, so some
 * chunks appear twice. `matched` is JSON: for each chunk, the query's lexemes that it contains with their positions, as the text of a tsvector.
 *
 * By words: `kb_id` of chunks is compared by `is not distinct from`, which no index serves, and sequential scans are off: what remains is a bitmap scan of
 * the lexemes, which contain the base's number anyway. Lexemes in over 30 % of a base's chunks, and those beyond the rarest ones that together occur in
 * 50,000, generate no candidates unless the others give fewer than 200. Of a lexeme in more chunks than that, 50,000 are ranked, and all only when filters
 * leave fewer than 200.
 *
 * By meaning: first the nearest of all chunks, by the base's index (each base with its own plan and its id as a literal, since a generic plan never uses a
 * partial index) or by comparing all; they suffice when 200 of them are shown. With narrow filters the index tries this on 2,000 chunks. Otherwise the
 * shown items are counted: if they have up to 20,000 chunks and are few in the base, those chunks are compared directly; if they have more, the index
 * returns the nearest. The last resort is a scan of the whole base. Where one of these gives fewer than 200, the next one follows.
 */
const legs = `create or replace function gate_knowledge_legs(p_bases jsonb, p_lexemes jsonb, p_embeddings text[], p_filter jsonb, p_has_use boolean)
  returns table (kb_id uuid, chunk_ids text, used_at text, lexeme_counts text, matched text, document_frequencies int[], distances text)
  language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp ${pinned} as $gate$
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
      where b.deleted_at is null and b.activated_at is not null and ${inTenant('b', variables)}
    loop
      kb_id := v_id;
      chunk_ids := null;
      distances := null;
      if v_language is not null then${lexemesOfBase}
        -- The best 250 of the rare lexemes, all of theirs, and the same of every lexeme.
        foreach v_try in array case when v_rare is null then '{}' when v_is_narrow then '{2}' when v_rare_df > ${ranked} then '{1,2}' else '{2}' end::int[]
          || case when v_every is not distinct from v_rare then '{}' when v_is_narrow then '{4}' else '{3,4}' end::int[]
        loop
          v_query := case when v_try <= 2 then v_rare else v_every end;
          ${byFilters(
            (passes) => `
          select string_agg(m.lex_len::text, ','), json_agg(ts_filter(setweight(m.lexemes, 'A', v_lexemes), '{a}')::text)::text, ${foundColumns}
          into lexeme_counts, matched, ${foundInto}
          from (
            select c.id, coalesce(i.last_used_at, i.created_at) as used_at, c.lex_len, c.lexemes
            from (
              select s.id, s.item_id, s.lex_len, s.lexemes, ts_rank(s.lexemes, v_query, 1) as rank
              from (
                select k.id, k.item_id, k.lex_len, k.lexemes from knowledge_chunks k
                where k.lexemes @@ v_query and k.kb_id is not distinct from v_id limit case when v_try in (1, 3) then ${maxRanked} end
              ) s
              order by rank desc, s.id limit case when v_try in (1, 3) then ${ranked} end
            ) c join knowledge_items i on i.id = c.item_id
            where ${isShownByChunk(variables, passes)}
            order by c.rank desc, c.id limit ${wanted}
          ) m`,
          )}
          if v_found > 0 then return next; end if;
          exit when v_found = ${wanted};
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
        when v_count > ${ranked} then array['top', 'few', 'whole']
        else array['whole'] end
      loop
        if v_way in ('near', 'index') then
          continue when v_chunks <= ${maxCompared};
          perform set_config('hnsw.ef_search', '${wanted}', true), set_config('hnsw.iterative_scan', 'strict_order', true),
            set_config('hnsw.max_scan_tuples', case when v_way = 'near' then '${maxTried}' else '${maxCompared}' end, true);
          if current_setting('hnsw.ef_search') <> '${wanted}' or current_setting('hnsw.iterative_scan') <> 'strict_order' then
            raise exception 'the settings of the index scan are not in force';
          end if;
          execute format($q$
            select string_agg(m.distance::text, ','), ${foundColumns.replace('p_has_use', '$11')} from (
              select v.chunk_id as id, coalesce(i.last_used_at, i.created_at) as used_at, (v.embedding::halfvec(%1$s) <=> $10::halfvec(%1$s)) as distance
              from knowledge_vectors v cross join lateral (
                select i.last_used_at, i.created_at from knowledge_items i where i.id = ${itemOf('v')} and ${isShownByChunk(parameters)} offset 0
              ) i
              where v.kb_id = %2$L
              order by v.embedding::halfvec(%1$s) <=> $10::halfvec(%1$s) limit ${wanted}
            ) m$q$, v_dim, v_id) into distances, ${foundInto} using ${given}, v_embedding, p_has_use;
        elsif v_way = 'few' then
          -- Planned for these filters: by the indexes of tags and sources, else it reads each item of the base.
          execute $q$
            select array_agg(p.id), sum(p.chunk_count) from (
              select i.id, i.chunk_count from knowledge_items i where i.kb_id = ${parameters.base} and ${isShown(parameters)} and ${isIndexed(parameters)} limit ${maxCompared} + 1
            ) p$q$ into v_items, v_chunks using ${given};
          if cardinality(v_items) > ${maxCompared} then v_chunks := greatest(v_chunks, ${maxCompared} + 1); end if;
          continue when v_chunks > ${maxCompared} or 10 * v_chunks > v_count;
          select string_agg(m.distance::text, ','), ${foundColumns} into distances, ${foundInto} from (
            select v.chunk_id as id, coalesce(i.last_used_at, i.created_at) as used_at, v.embedding <=> v_embedding as distance
            from unnest(v_items) s(id) join knowledge_items i on i.id = s.id join knowledge_chunks c on c.item_id = s.id join knowledge_vectors v on v.chunk_id = c.id
            order by 3, 1 limit ${wanted}
          ) m;
          v_found := ${wanted};
        else
        ${byFilters(
          (passes) => `
            select string_agg(m.distance::text, ','), ${foundColumns} into distances, ${foundInto} from (
              select n.chunk_id as id, coalesce(i.last_used_at, i.created_at) as used_at, n.distance
              from (
                select v.chunk_id, v.embedding <=> v_embedding as distance, v.item_id from knowledge_vectors v where v.kb_id = v_id
                order by 2, 1 limit case when v_way = 'top' then ${ranked} end
              ) n cross join lateral (
                select i.last_used_at, i.created_at from knowledge_items i where i.id = ${itemOf('n')} and ${isShownByChunk(variables, passes)} offset 0
              ) i
              order by n.distance, n.chunk_id limit ${wanted}
            ) m`,
        )}
        end if;
        if chunk_ids is not null then return next; end if;
        exit when v_found = ${wanted};
      end loop;
    end loop;
  end
$gate$`;

/**
 * The match operator is not leakproof, so under the policies of longhaul_app PostgreSQL could not use the GIN index, and it would evaluate them for every
 * compared vector. The policies of longhaul_gate are `true`, and the functions repeat the tenant and live predicates. What they find is read as
 * longhaul_app, whose policies decide in the end. Plans are kept with the connection: planning takes as long as a search of a small base. Chunks are ranked
 * before their items are looked up, for vectors in a subquery that PostgreSQL keeps as it is (`offset 0`): with two tables it would begin with the items.
 */
export const candidateFunctions: DefinerFunctions = { functions, grants, sql: [legs] };
