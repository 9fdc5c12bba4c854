import { sql } from 'kysely';
import { query } from '../../query.ts';
import { change } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** Row scope of a base's rows; `id` is the base's id. */
export interface BasePlace {
  readonly id: string;
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
}

/** A chunk as it is written. `lexemes` is the text of a tsvector. */
export interface NewChunk {
  readonly id: string;
  readonly itemId: string;
  readonly ord: number;
  readonly text: string;
  readonly context: string | null;
  readonly charStart: number;
  readonly charEnd: number;
  readonly page: number | null;
  readonly tokenCount: number;
  readonly contentHash: string;
  readonly lexemes: string;
  readonly lexLen: number;
}

/** The vector of a chunk, computed by the model of its base. */
export interface NewVector {
  readonly chunkId: string;
  readonly embedding: Float32Array;
}

const chunkColumns = [
  'id',
  'itemId',
  'ord',
  'text',
  'context',
  'charStart',
  'charEnd',
  'page',
  'tokenCount',
  'contentHash',
  'lexemes',
  'lexLen',
] as const;

/** Writes chunks of one base in one statement, however many there are. */
export async function insertChunks(tx: Pick<TenantTransaction, 'em'>, base: BasePlace, chunks: readonly NewChunk[]): Promise<void> {
  if (chunks.length === 0) return;
  await change(
    tx.em,
    query
      .insertInto('knowledge_chunks')
      .columns([...chunkColumns, 'kbId', 'organizationId', 'workspaceId', 'createdAt'])
      .expression(
        query
          .selectFrom(listed(chunks))
          .select([
            'c.id',
            'c.itemId',
            'c.ord',
            'c.text',
            'c.context',
            'c.charStart',
            'c.charEnd',
            'c.page',
            'c.tokenCount',
            'c.contentHash',
          ])
          .select([sql<string>`c.lexemes::tsvector`.as('lexemes'), 'c.lexLen', ...placeColumns(base)]),
      ),
  );
}

function listed(chunks: readonly NewChunk[]) {
  const of = <K extends keyof NewChunk>(name: K) => chunks.map((chunk) => chunk[name]);
  return sql<NewChunk>`unnest(${of('id')}::uuid[], ${of('itemId')}::uuid[], ${of('ord')}::int[], ${of('text')}::text[], ${of('context')}::text[],
    ${of('charStart')}::int[], ${of('charEnd')}::int[], ${of('page')}::int[], ${of('tokenCount')}::int[], ${of('contentHash')}::text[],
    ${of('lexemes')}::text[], ${of('lexLen')}::int[])`.as<'c'>(
    sql`c (id, item_id, ord, text, context, char_start, char_end, page, token_count, content_hash, lexemes, lex_len)`,
  );
}

function placeColumns({ id, organizationId, workspaceId }: BasePlace) {
  return [
    sql<string>`${id}::uuid`.as('kbId'),
    sql<string | null>`${organizationId}::uuid`.as('organizationId'),
    sql<string | null>`${workspaceId}::uuid`.as('workspaceId'),
    sql<string>`now()`.as('createdAt'),
  ] as const;
}

/** The model that computes a base's vectors. */
export interface BaseModel extends BasePlace {
  readonly embeddingModel: string;
  readonly embeddingDim: number;
}

/** Writes vectors of one base's chunks in one statement. */
export async function insertVectors(tx: Pick<TenantTransaction, 'em'>, base: BaseModel, vectors: readonly NewVector[]): Promise<void> {
  if (vectors.length === 0) return;
  const ids = vectors.map(({ chunkId }) => chunkId);
  const texts = vectors.map(({ embedding }) => toHalfvec(embedding));
  await change(
    tx.em,
    query
      .insertInto('knowledge_vectors')
      .columns(['chunkId', 'itemId', 'embedding', 'embeddingModel', 'embeddingDim', 'kbId', 'organizationId', 'workspaceId', 'createdAt'])
      .expression(
        query
          .selectFrom(sql<{ id: string; text: string }>`unnest(${ids}::uuid[], ${texts}::text[])`.as<'v'>(sql`v (id, text)`))
          .select(({ selectFrom }) => [
            'v.id as chunkId',
            selectFrom('knowledge_chunks as c').select('c.itemId').whereRef('c.id', '=', 'v.id').as('itemId'),
          ])
          .select(sql<string>`v.text::halfvec`.as('embedding'))
          .select([
            sql<string>`${base.embeddingModel}::text`.as('embeddingModel'),
            sql<number>`${base.embeddingDim}::int`.as('embeddingDim'),
          ])
          .select([...placeColumns(base)]),
      ),
  );
}

/** Returns the text of a halfvec. A halfvec keeps three decimal digits; five digits in the text do not change how it rounds. */
export function toHalfvec(vector: Float32Array): string {
  // A hashed vector holds mostly 0 and few other numbers, and formatting a number takes longer than looking it up.
  const written = new Map<number, string>();
  const texts: string[] = [];
  for (const value of vector) texts.push(value === 0 ? '0' : (written.get(value) ?? keep(written, value)));
  return `[${texts.join(',')}]`;
}

function keep(written: Map<number, string>, value: number): string {
  const text = String(Number(value.toPrecision(5)));
  written.set(value, text);
  return text;
}
