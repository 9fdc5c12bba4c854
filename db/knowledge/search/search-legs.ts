import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { KnowledgeItemKind, KnowledgeOrigin } from '../../../workflows/contracts/knowledge/curation.ts';

/** The items that a search may find. An omitted field filters nothing; no list is empty. */
export interface ItemFilter {
  readonly kinds?: readonly KnowledgeItemKind[];
  readonly tags_any?: readonly string[];
  readonly tags_all?: readonly string[];
  readonly source_ids?: readonly string[];
  readonly origins?: readonly KnowledgeOrigin[];
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Both bounds are inclusive. */
  readonly created_from?: string;
  readonly created_to?: string;
  readonly valid_at?: string;
}

/** A base as the legs search it. Fields of a leg that does not run in it are null. */
export interface LegBase {
  readonly kb_id: string;
  readonly chunk_count: number;
  readonly states: readonly string[];
  /** The language whose lexemes of the query are searched; null: not by words. */
  readonly language: string | null;
  /** Prefix of each lexeme that it stores; see `lexemePrefix`. */
  readonly prefix: string | null;
  /** Dimension of its vectors. */
  readonly dim: number | null;
  /** Index, from 1, of the embedding from its model. */
  readonly embedding: number | null;
  /** Whether to use an index over its vectors, if there is one. False: an exact scan. */
  readonly use_index: boolean;
  /** Searches by meaning only if words find nothing in it. */
  readonly if_empty: boolean;
}

export interface LegsRequest {
  readonly bases: readonly LegBase[];
  /** Distinct lexemes of the query, by language. */
  readonly lexemes: Readonly<Record<string, readonly string[]>>;
  readonly embeddings: readonly Float32Array[];
  readonly filter: ItemFilter;
  /** Whether the last use of chunks matters. */
  readonly hasUse: boolean;
}

/** What one try of a leg has found in one base: lists of equal length, in the order of the chunks. Some chunks appear in several tries of a leg. */
export interface LegFind {
  readonly kbId: string;
  readonly chunkIds: readonly string[];
  /** Milliseconds since 1970; null unless requested. */
  readonly usedAt: readonly number[] | null;
  /** Set by the lexical leg. */
  readonly words: FoundWords | null;
  /** Cosine distances, set by the vector leg. */
  readonly distances: readonly number[] | null;
}

export interface FoundWords {
  /** Number of lexemes in each chunk, with repetitions. */
  readonly lexemeCounts: readonly number[];
  /** How often each lexeme of the query occurs in each chunk, in the order of the query's lexemes. */
  readonly frequencies: readonly (readonly number[])[];
  /** How many chunks of the base contain each lexeme of the query. */
  readonly documentFrequencies: readonly number[];
}

/** A row of `gate_knowledge_legs`; its columns are documented there. */
interface FoundColumns {
  readonly kbId: string;
  readonly chunkIds: string;
  /** Seconds. */
  readonly usedAt: string | null;
  readonly lexemeCounts: string | null;
  readonly matched: string | null;
  readonly documentFrequencies: number[] | null;
  readonly distances: string | null;
}

interface LegsValues {
  readonly bases: string;
  readonly lexemes: string;
  readonly embeddings: readonly string[];
  readonly filter: string;
  readonly hasUse: boolean;
}

const legs = prepared(({ bases, lexemes, embeddings, filter, hasUse }: ParametersOf<LegsValues>) =>
  query
    .selectFrom(
      sql<FoundColumns>`gate_knowledge_legs(${bases}::jsonb, ${lexemes}::jsonb, ${embeddings}::text[], ${filter}::jsonb, ${hasUse}::boolean)`.as(
        'leg',
      ),
    )
    .select(['leg.kbId', 'leg.chunkIds', 'leg.usedAt', 'leg.lexemeCounts', 'leg.matched', 'leg.documentFrequencies', 'leg.distances']),
);

/** Runs both legs over all bases in one statement: at most 200 chunks per base and try. */
export async function findCandidates(tx: Pick<TenantTransaction, 'em'>, request: LegsRequest): Promise<LegFind[]> {
  const found = await rows(
    tx.em,
    legs({
      bases: JSON.stringify(request.bases),
      lexemes: JSON.stringify(request.lexemes),
      embeddings: request.embeddings.map((vector) => `[${vector.join(',')}]`),
      filter: JSON.stringify(request.filter),
      hasUse: request.hasUse,
    }),
  );
  const lexemesOf = new Map(request.bases.map(({ kb_id, language }) => [kb_id, request.lexemes[language ?? ''] ?? []]));
  return found.map((columns) => findOf(columns, lexemesOf.get(columns.kbId) ?? []));
}

function findOf(
  { kbId, chunkIds, usedAt, lexemeCounts, matched, documentFrequencies, distances }: FoundColumns,
  lexemes: readonly string[],
): LegFind {
  return {
    kbId,
    chunkIds: chunkIds.split(','),
    usedAt: usedAt === null ? null : numbersIn(usedAt).map((seconds) => seconds * 1_000),
    words:
      lexemeCounts === null || matched === null
        ? null
        : {
            lexemeCounts: numbersIn(lexemeCounts),
            // The form that `json_agg` writes.
            frequencies: (JSON.parse(matched) as string[]).map((held) => frequenciesIn(held, lexemes)),
            documentFrequencies: documentFrequencies ?? [],
          },
    distances: distances === null ? null : numbersIn(distances),
  };
}

function numbersIn(list: string): number[] {
  return list.split(',').map(Number);
}

/** Returns how often each lexeme occurs in the text of a tsvector, which prefixes lexemes with the number of their base: `'k3:seal':2A,7A`. */
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
