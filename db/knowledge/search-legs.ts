import { type RawBuilder, sql } from 'kysely';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { KnowledgeItemKind, KnowledgeOrigin } from './knowledge-item.entity.ts';

/** Which items a search may find. What is left out filters nothing; no list is empty. */
export interface ItemFilter {
  readonly kinds?: readonly KnowledgeItemKind[];
  readonly tags_any?: readonly string[];
  readonly tags_all?: readonly string[];
  readonly source_ids?: readonly string[];
  readonly origins?: readonly KnowledgeOrigin[];
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Both included. */
  readonly created_from?: string;
  readonly created_to?: string;
  readonly valid_at?: string;
}

/** A base as the lexical leg searches it. */
export interface LexicalBase {
  readonly kb_id: string;
  readonly chunk_count: number;
  /** Whose lexemes of the query it is searched for. */
  readonly language: string;
  readonly states: readonly string[];
}

/** A base as the vector leg searches it. */
export interface VectorBase {
  readonly kb_id: string;
  readonly dim: number;
  readonly chunk_count: number;
  /** Which of the embeddings is that of its model; from 1. */
  readonly embedding: number;
  /** False: the exact scan. */
  readonly use_index: boolean;
  readonly states: readonly string[];
  /** Only where the lexical leg of the same search finds nothing in it. */
  readonly if_empty: boolean;
}

export interface LegsRequest {
  readonly lexical: readonly LexicalBase[];
  /** Lexemes of the query without repeats, by language. */
  readonly lexemes: Readonly<Record<string, readonly string[]>>;
  readonly vector: readonly VectorBase[];
  readonly embeddings: readonly Float32Array[];
  readonly filter: ItemFilter;
  /** Whether it matters when chunks were used last. */
  readonly hasUse: boolean;
}

/** A chunk that a leg has found: with frequencies by the lexical one, with a distance by the vector one. Some come twice. */
export interface LegRow {
  readonly kbId: string;
  readonly chunkId: string;
  /** Milliseconds since 1970; null unless they were asked for. */
  readonly usedAt: number | null;
  readonly lexemeCount: number | null;
  /** How often each lexeme of the query stands in it, in their order. */
  readonly frequencies: number[] | null;
  readonly documentFrequencies: readonly number[] | null;
  readonly distance: number | null;
}

/** What one leg has found in one base: lists of equal length as the texts of arrays, since a row for each chunk takes longer to read than to find. */
interface FoundColumns {
  readonly kbId: string;
  readonly chunkIds: string;
  /** Seconds. */
  readonly usedAt: string | null;
  readonly lexemeCounts: string | null;
  /** JSON: of each chunk the query's lexemes that it holds, with positions, as the text of a tsvector. */
  readonly matched: string | null;
  readonly documentFrequencies: number[] | null;
  readonly distances: string | null;
}

interface LegsValues {
  readonly lexical: string;
  readonly lexemes: string;
  readonly vector: string;
  readonly embeddings: readonly string[];
  readonly filter: string;
  readonly hasUse: true | undefined;
  /** A vector leg waits for what the lexical one finds. */
  readonly hasFallback: true | undefined;
}

const legs = prepared(({ lexical, lexemes, vector, embeddings, filter, hasUse, hasFallback }: ParametersOf<LegsValues>) => {
  const usedAt = hasUse === undefined ? sql`null::text` : sql`array_agg(date_part('epoch', used_at))::text`;
  const candidates = sql`gate_knowledge_candidates(${lexical}::jsonb, ${lexemes}::jsonb, ${filter}::jsonb)`;
  const lexicalIn = (found: RawBuilder<unknown>) => sql`
    select kb_id, array_agg(chunk_id)::text as chunk_ids, ${usedAt} as used_at, array_agg(lexeme_count)::text as lexeme_counts, json_agg(matched)::text as matched,
      min(document_frequencies) as document_frequencies, null as distances from ${found} group by kb_id`;
  const nearestIn = (bases: RawBuilder<unknown>) => sql`
    select kb_id, array_agg(chunk_id)::text, ${usedAt}, null, null, null, array_agg(distance)::text
    from gate_knowledge_nearest(${bases}, ${embeddings}::text[], ${filter}::jsonb) group by kb_id`;
  const unlessFound = sql`(select coalesce(jsonb_agg(b), '[]') from jsonb_array_elements(${vector}::jsonb) b
    where not ((b ->> 'if_empty')::boolean and exists (select from lexical l where l.kb_id = (b ->> 'kb_id')::uuid)))`;
  const found =
    hasFallback === undefined
      ? sql<FoundColumns>`(${lexicalIn(candidates)} union all ${nearestIn(sql`${vector}::jsonb`)})`
      : sql<FoundColumns>`(with lexical as materialized (select * from ${candidates}) ${lexicalIn(sql`lexical`)} union all ${nearestIn(unlessFound)})`;
  return query
    .selectFrom(found.as('leg'))
    .select(['leg.kbId', 'leg.chunkIds', 'leg.usedAt', 'leg.lexemeCounts', 'leg.matched', 'leg.documentFrequencies', 'leg.distances']);
});

/** Runs both legs over all bases in one statement: at most 200 chunks a base and leg, and some of them more than once. */
export async function findCandidates(tx: Pick<TenantTransaction, 'em'>, request: LegsRequest): Promise<LegRow[]> {
  const found = await rows(
    tx.em,
    legs({
      lexical: JSON.stringify(request.lexical),
      lexemes: JSON.stringify(request.lexemes),
      vector: JSON.stringify(request.vector),
      embeddings: request.embeddings.map((vector) => `[${vector.join(',')}]`),
      filter: JSON.stringify(request.filter),
      hasUse: request.hasUse || undefined,
      hasFallback: request.vector.some(({ if_empty }) => if_empty) || undefined,
    }),
  );
  const lexemesOf = new Map(request.lexical.map(({ kb_id, language }) => [kb_id, request.lexemes[language] ?? []]));
  return found.flatMap((columns) => chunksOf(columns, lexemesOf.get(columns.kbId) ?? []));
}

function chunksOf({ kbId, documentFrequencies, ...texts }: FoundColumns, lexemes: readonly string[]): LegRow[] {
  const [usedAt, lexemeCounts, distances] = [texts.usedAt, texts.lexemeCounts, texts.distances].map(numbersIn);
  // As `json_agg` writes it.
  const matched = texts.matched === null ? null : (JSON.parse(texts.matched) as string[]);
  return elementsOf(texts.chunkIds).map((chunkId, at) => ({
    kbId,
    chunkId,
    usedAt: usedAt === null ? null : (usedAt?.[at] ?? 0) * 1_000,
    lexemeCount: lexemeCounts?.[at] ?? null,
    frequencies: matched === null ? null : frequenciesIn(matched[at] ?? '', lexemes),
    documentFrequencies,
    distance: distances?.[at] ?? null,
  }));
}

/** Elements of the text of an array of ids or numbers, none of them null. */
function elementsOf(array: string): string[] {
  return array.slice(1, -1).split(',');
}

function numbersIn(array: string | null): number[] | null {
  return array === null ? null : elementsOf(array).map(Number);
}

/** How often each lexeme stands in the text of a tsvector, which names them behind the number of their base: `'k3:seal':2A,7A`. */
function frequenciesIn(tsvector: string, lexemes: readonly string[]): number[] {
  const counts = new Map<string, number>();
  for (const [, name = '', positions = ''] of tsvector.matchAll(/'((?:[^']|'')*)':([\dA,]+)/g)) {
    const lexeme = name
      .slice(name.indexOf(':') + 1)
      .replaceAll("''", "'")
      .replaceAll('\\\\', '\\');
    counts.set(lexeme, positions.split(',').length);
  }
  return lexemes.map((lexeme) => counts.get(lexeme) ?? 0);
}
