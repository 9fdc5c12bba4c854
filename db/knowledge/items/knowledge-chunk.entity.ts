import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, tsvectorColumn, uuidColumn } from '../../columns.ts';
import { index, uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

const schema = defineEntity({
  name: 'KnowledgeChunk',
  tableName: 'knowledge_chunks',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('knowledge_chunks', 'child'),
  indexes: [
    uniqueIndex('knowledge_chunks', 'ord', '(item_id, ord)'),
    uniqueIndex('knowledge_chunks', 'predecessor', '(kb_id, predecessor_chunk_id)'),
    index('knowledge_chunks', 'lexemes', 'using gin (lexemes) with (fastupdate = off)'),
  ],
  checks: [{ name: 'knowledge_chunks_slice', expression: '0 <= char_start and char_start < char_end' }],
  properties: {
    id: idColumn(),
    kbId: uuidColumn(),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    itemId: uuidColumn(),
    /** Position in the item, from 0. */
    ord: p.integer(),
    /** Exactly `content[char_start, char_end)`, in code points. */
    text: p.text(),
    /** Title, headings and table header: embedded and indexed with the text, but not quoted. */
    context: p.text().strictNullable(),
    charStart: p.integer(),
    charEnd: p.integer(),
    /** Page number from 1; null where the document has no pages. */
    page: p.integer().strictNullable(),
    tokenCount: p.integer(),
    contentHash: p.text(),
    /** Lexemes of text and context, each prefixed with the base's `lex_no`. */
    lexemes: tsvectorColumn(),
    /** Number of its lexemes, with repetitions. */
    lexLen: p.integer(),
    predecessorChunkId: uuidColumn().strictNullable(),
    createdAt: createdAtColumn(),
  },
});

/** The part of an item that search finds and quotes. */
export class KnowledgeChunk extends schema.class {}
schema.setClass(KnowledgeChunk);
