import { lex, lexQuery } from '../../../ports/chunking/lex.ts';
import type { SearchHit } from './search.ts';

/** A cosine from which on a passage is about what was asked, whatever its words. */
const minCosine = 0.35;
/** BM25 from which on words alone say so. */
const minLexical = 8;
/** Share of the question's lexemes that a passage must have else. */
const minShare = 0.5;

/**
 * Whether a passage is likely about a question, so that a model may get it unasked. The `score` of a hit says which is the best, not whether it is any
 * good: this goes by the cosine, by BM25, and in small bases, where BM25 is low for all, by the share of the question's words.
 */
export function isRelevant({ row, ranks }: Pick<SearchHit, 'row' | 'ranks'>, question: string, language: string): boolean {
  if ((ranks.vector?.score ?? 0) >= minCosine || (ranks.lexical?.score ?? 0) >= minLexical) return true;
  const asked = new Set(lexQuery(question, language));
  const has = new Set(lex(`${row.title ?? ''}\n${row.text}`, language));
  const shared = [...asked].filter((lexeme) => has.has(lexeme)).length;
  return shared > 0 && shared / asked.size >= minShare;
}
