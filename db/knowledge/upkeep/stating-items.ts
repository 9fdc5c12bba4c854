import { type Expression, sql } from 'kysely';
import { query } from '../../query.ts';
import type { CurationState } from '../../../workflows/contracts/knowledge/curation.ts';

const states = ['pending', 'reviewed', 'promoted'] as const satisfies readonly CurationState[];

/** States of items that still count, being neither superseded nor retired; in the text, so that the planner knows them. */
export const standingStates = states.map((state) => sql.lit<CurationState>(state));

/** Live items of a base that state something: neither superseded nor retired, and not summaries of others. */
export function statingItems(kbId: string) {
  return query
    .selectFrom('knowledge_live_items as i')
    .innerJoin('knowledge_items as x', 'x.id', 'i.id')
    .where('i.kbId', '=', kbId)
    .where('i.curationState', 'in', standingStates)
    .where('i.kind', '<>', 'summary')
    .select(['i.id', 'i.title', 'i.content', 'i.contentHash', 'i.trust', 'i.curationState', 'i.fact', 'i.validFrom', 'i.validUntil'])
    .select('x.judged as reading');
}

/** A text, normalized for case, width and white space. */
export function normal(text: Expression<unknown>) {
  return sql<string>`lower(regexp_replace(btrim(normalize(${text}, NFKC)), '\\s+', ' ', 'g'))`;
}
