import { lex, lexQuery } from '../../../ports/chunking/lex.ts';
import type { SearchHit } from './search.ts';

/** The cosine from which a passage counts as relevant, whatever its words. */
const minCosine = 0.35;
/** The BM25 score from which words alone make a passage relevant. */
const minLexical = 8;
/** Otherwise the share of the question's lexemes that a passage must contain. */
const minShare = 0.5;

/**
 * Whether a passage is likely relevant to a question, so that it may be injected into a prompt. The `score` of a hit says which hit is the best, not whether it
 * is good: this goes by the cosine, by BM25, and in small bases, where all BM25 scores are low, by the share of the question's words.
 */
export function isRelevant({ row, ranks }: Pick<SearchHit, 'row' | 'ranks'>, question: string, language: string): boolean {
  if ((ranks.vector?.score ?? 0) >= minCosine || (ranks.lexical?.score ?? 0) >= minLexical) return true;
  const asked = new Set(lexQuery(question, language));
  const has = new Set(lex(`${row.title ?? ''}\n${row.text}`, language));
  const shared = [...asked].filter((lexeme) => has.has(lexeme)).length;
  return shared > 0 && shared / asked.size >= minShare;
}
