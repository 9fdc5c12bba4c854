import { readKnowledgeRun, type KnowledgeRun } from '../../../db/knowledge/runs/run-bindings.ts';
import type { SearchedBase } from '../../../db/knowledge/search/search-bases.ts';
import type { SearchResult } from '../../../domain/knowledge/search/search.ts';
import { searchableBasesOfRun } from '../../../domain/knowledge/bases/searchable-bases.ts';
import { passagesOf, searchForRun } from '../../knowledge/run-search.ts';
import { failed, type ToolExecution, type ToolOutcome } from '../calls/outcome.ts';
import type { ToolDeps } from '../tool-deps.ts';

/** Number of passages when neither the call nor a binding sets one. */
const usualPassages = 5;

/** The builtin `knowledge_search`: returns passages of the bases that the run may read now, as data between lines of a random boundary. */
export async function searchKnowledge(
  { args, run, place, variables, transact }: ToolExecution,
  deps: Pick<ToolDeps, 'embedder' | 'env' | 'measure'>,
): Promise<ToolOutcome> {
  if (run === null) return failed('tool_unavailable', 'knowledge is searched within a run only', false);
  const query = String(args['query']).trim();
  if (query === '') return failed('invalid_arguments', 'query must not be empty', false);

  const asked = await transact((tx) => readKnowledgeRun(tx, run.id));
  if (!asked) return failed('tool_unavailable', 'the run is not there any more', false);
  const readable = await transact((tx) => searchableBasesOfRun(tx, asked.principal));
  const slugs = Array.isArray(args['bases']) ? args['bases'].map(String) : null;
  const bases = slugs === null ? readable : readable.filter(({ slug }) => slugs.includes(slug));
  if (bases.length === 0)
    return failed(
      'invalid_arguments',
      readable.length === 0 ? 'this run reads no knowledge base' : `the bases are: ${readable.map(({ slug }) => slug).join(', ')}`,
      false,
    );

  const result = await searchForRun(
    deps,
    { place, now: new Date(String(variables['now'])), transact },
    { bases, query, topK: topKOf(asked, args['top_k']) },
  );
  return { status: 'succeeded', type: 'text', text: textOf(result, bases) };
}

function topKOf({ pins }: KnowledgeRun, asked: unknown): number {
  if (typeof asked === 'number') return asked;
  return pins.length === 0 ? usualPassages : Math.max(...pins.map(({ top_k }) => top_k));
}

function textOf({ hits, degraded }: SearchResult, bases: readonly SearchedBase[]): string {
  const slugs = new Map(bases.map(({ id, slug }) => [id, slug]));
  const notes = degraded.map(({ kbId, leg, reason }) => `[${slugs.get(kbId)}: the ${leg} leg did not run in full (${reason})]`);
  return hits.length === 0 ? ['Nothing was found.', ...notes].join('\n') : [passagesOf(hits, bases), ...notes].join('\n\n');
}
