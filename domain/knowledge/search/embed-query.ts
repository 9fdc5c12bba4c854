import { deadlineIn } from '../../../ports/deadline.ts';
import { newId } from '../../../db/ids.ts';
import { payingWorkspace } from '../../../db/knowledge/items/pending-items.ts';
import { EmbeddingError } from '../../../ports/embeddings/errors.ts';
import { embedQuery, maxQueryWaitMs, type QueryEmbedding } from '../../../ports/embeddings/query.ts';
import { Failure } from '../../../workflows/contracts/failure.ts';
import { embedTexts, type EmbeddingDeps } from '../items/embed-texts.ts';
import type { SearchDeps } from './search.ts';

/** The searcher's organization and workspace; null when there is no single workspace, or no organization. */
export interface SearchScope {
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
}

/**
 * Returns the embedding function of one search. A billed model passes the budget check first, and leaves a usage row for the search: in the searcher's
 * workspace, else the base's, else the organization's oldest one. If the model can't make a vector, the function returns the reason instead of throwing.
 */
export function meteredQueries(deps: EmbeddingDeps, searcher: SearchScope): SearchDeps['embed'] {
  const searchId = newId();
  return async (modelId, text, base) => {
    const { embedder } = deps;
    if (embedder.find(modelId)?.inProcess !== false) return embedQuery(embedder, modelId, text);

    const organizationId = searcher.organizationId ?? base.organizationId;
    const workspaceId = searcher.workspaceId ?? (await deps.transact((tx) => payingWorkspace(tx, { ...base, organizationId })));
    // No organization pays for a platform-wide search by an operator.
    if (organizationId === null || workspaceId === null) return { reason: 'budget' };
    const source = { kind: 'search', id: searchId } as const;
    return embedBilled(deps, { model: modelId, kind: 'query', texts: [text], source, step: 'query', organizationId, workspaceId });
  };
}

/**
 * Returns the embedding function for the searches of a run, which pays for them: each text is embedded once per batch, and billed once however often the batch
 * is tried. Unlike in a person's search, a missing vector is an error, so that the run waits or ends. `step` names the batch. Throws as `embedTexts` does.
 */
export function queriesOfRun(
  deps: EmbeddingDeps,
  { runId, step, signal }: { readonly runId: string; readonly step: string; readonly signal: AbortSignal },
): SearchDeps['embed'] {
  const made = new Map<string, Promise<QueryEmbedding>>();
  const embed = async (...[model, text, base]: Parameters<SearchDeps['embed']>): Promise<QueryEmbedding> => {
    const workspaceId = await deps.transact((tx) => payingWorkspace(tx, base));
    if (workspaceId === null || base.organizationId === null) throw new Error(`nobody pays for run ${runId}`);
    const source = { kind: 'maintenance', id: runId } as const;
    const wanted = { model, kind: 'query', texts: [text], source, step, organizationId: base.organizationId, workspaceId, signal } as const;
    const [vector] = await embedTexts(deps, wanted);
    if (vector === undefined) throw new EmbeddingError('bad_answer', 'no vector of a query');
    return { vector };
  };
  return (model, text, base) => {
    const key = `${model} ${text}`;
    const known = made.get(key) ?? embed(model, text, base);
    made.set(key, known);
    return known;
  };
}

type BilledQuery = Omit<Parameters<typeof embedTexts>[1], 'signal'>;

async function embedBilled(deps: EmbeddingDeps, query: BilledQuery): Promise<QueryEmbedding> {
  try {
    const [vector] = await embedTexts(deps, { ...query, signal: deadlineIn(maxQueryWaitMs) });
    return vector ? { vector } : { reason: 'provider_failed' };
  } catch (error) {
    return { reason: reasonOf(error) };
  }
}

/** Throws errors that come neither from a model nor from a budget. */
function reasonOf(error: unknown): 'provider_failed' | 'provider_timeout' | 'budget' {
  if (error instanceof EmbeddingError) return error.fault === 'timeout' ? 'provider_timeout' : 'provider_failed';
  if (error instanceof DOMException && error.name === 'TimeoutError') return 'provider_timeout';
  // The wait for calls in flight to release budget was cut off.
  if (error instanceof Error && error.name === 'AbortError') return 'budget';
  // `rate_limited`: calls in flight hold the rest of the budget; `validation_failed`: the model has no price, and must have one.
  const isBudget = error instanceof Failure && ['budget_exceeded', 'rate_limited', 'validation_failed'].includes(error.code);
  if (isBudget) return 'budget';
  throw error;
}
