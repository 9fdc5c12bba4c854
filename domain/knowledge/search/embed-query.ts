import { deadlineIn } from '../../../ports/deadline.ts';
import { newId } from '../../../db/ids.ts';
import { payingWorkspace } from '../../../db/knowledge/items/pending-items.ts';
import { EmbeddingError } from '../../../ports/embeddings/errors.ts';
import { embedQuery, maxQueryWaitMs, type QueryEmbedding } from '../../../ports/embeddings/query.ts';
import { Failure } from '../../../workflows/contracts/failure.ts';
import { embedTexts, type EmbeddingDeps } from '../items/embed-texts.ts';
import type { SearchDeps } from './search.ts';

/** Where whoever searches is at home; null where that is no single workspace, or no organization. */
export interface SearchHome {
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
}

/**
 * What makes the vectors of one search. A model that is billed passes the budget before, and leaves a usage row of the search: of the searcher's workspace,
 * else of the base's, else of the organization's oldest one. What keeps a model from a vector is an answer and no error.
 */
export function meteredQueries(deps: EmbeddingDeps, home: SearchHome): SearchDeps['embed'] {
  const searchId = newId();
  return async (modelId, text, base) => {
    const { embedder } = deps;
    if (embedder.find(modelId)?.inProcess !== false) return embedQuery(embedder, modelId, text);

    const organizationId = home.organizationId ?? base.organizationId;
    const workspaceId = home.workspaceId ?? (await deps.transact((tx) => payingWorkspace(tx, { ...base, organizationId })));
    // Nobody pays for a search of the platform by its operator.
    if (organizationId === null || workspaceId === null) return { reason: 'budget' };
    const source = { kind: 'search', id: searchId } as const;
    return embedBilled(deps, { model: modelId, kind: 'query', texts: [text], source, step: 'query', organizationId, workspaceId });
  };
}

/**
 * What makes the vectors of the searches of a run, which pays for them: each text once a batch, and billed once however often the batch is tried. Unlike that of
 * a person's search, whatever keeps the model from a vector is an error, so that the run waits or ends. `step` names the batch.
 * Throws as `embedTexts` does.
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

/** Throws what is no answer of a model or a budget. */
function reasonOf(error: unknown): 'provider_failed' | 'provider_timeout' | 'budget' {
  if (error instanceof EmbeddingError) return error.fault === 'timeout' ? 'provider_timeout' : 'provider_failed';
  if (error instanceof DOMException && error.name === 'TimeoutError') return 'provider_timeout';
  // The wait for calls in flight to give the budget back was cut off.
  if (error instanceof Error && error.name === 'AbortError') return 'budget';
  // `rate_limited`: calls in flight take what is left of the budget; `validation_failed`: the model has no price, and must have one.
  const isBudget = error instanceof Failure && ['budget_exceeded', 'rate_limited', 'validation_failed'].includes(error.code);
  if (isBudget) return 'budget';
  throw error;
}
