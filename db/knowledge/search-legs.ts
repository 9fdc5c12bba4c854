import { sql } from 'kysely';
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
}

/** A chunk that a leg has found: with frequencies by the lexical one, with a distance by the vector one. Some come twice. */
export interface LegRow {
  readonly kbId: string;
  readonly chunkId: string;
  readonly usedAt: string;
  readonly lexemeCount: number | null;
  /** How often each lexeme of the query stands in it, in their order. */
  readonly frequencies: number[] | null;
  readonly documentFrequencies: number[] | null;
  readonly distance: number | null;
}

interface FoundColumns extends Omit<LegRow, 'frequencies'> {
  /** The query's lexemes that it holds, with positions: the text of a tsvector. */
  readonly matched: string | null;
}

interface LegsValues {
  readonly lexical: string;
  readonly lexemes: string;
  readonly vector: string;
  readonly embeddings: readonly string[];
  readonly filter: string;
}

const legs = prepared(({ lexical, lexemes, vector, embeddings, filter }: ParametersOf<LegsValues>) =>
  query
    .selectFrom(
      sql<FoundColumns>`(
        with lexical as materialized (select * from gate_knowledge_candidates(${lexical}::jsonb, ${lexemes}::jsonb, ${filter}::jsonb))
        select kb_id, chunk_id, used_at, lexeme_count, matched, document_frequencies, null::float8 as distance from lexical
        union all
        select n.kb_id, n.chunk_id, n.used_at, null, null, null, n.distance from gate_knowledge_nearest(
          (select coalesce(jsonb_agg(b), '[]') from jsonb_array_elements(${vector}::jsonb) b
            where not ((b ->> 'if_empty')::boolean and exists (select from lexical l where l.kb_id = (b ->> 'kb_id')::uuid))),
          ${embeddings}::text[], ${filter}::jsonb) n)`.as('leg'),
    )
    .select(['leg.kbId', 'leg.chunkId', 'leg.usedAt', 'leg.lexemeCount', 'leg.matched', 'leg.documentFrequencies', 'leg.distance']),
);

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
    }),
  );
  const lexemesOf = new Map(request.lexical.map(({ kb_id, language }) => [kb_id, request.lexemes[language] ?? []]));
  return found.map(({ matched, ...row }) => ({
    ...row,
    frequencies: matched === null ? null : frequenciesIn(matched, lexemesOf.get(row.kbId) ?? []),
  }));
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
