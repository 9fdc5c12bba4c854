import type { ModelPermits, Permit } from '../models/permits/permits.ts';
import { EmbeddingError } from './errors.ts';
import type { EmbeddingAnswer, EmbeddingRequest } from './index.ts';
import type { ResolvedEmbedding } from './registry.ts';

/** A search waits for the vector of its query; documents may wait longer. */
const maxWaitMs = { query: 4_000, document: 20_000 } as const;
const retryAfterS = 5;

/** Makes a call of a model with limits once it has a permit. Throws `rate_limited` when there is none in time. */
export async function embedWithPermit(
  permits: ModelPermits,
  { model, request, tokens }: { readonly model: ResolvedEmbedding; readonly request: EmbeddingRequest; readonly tokens: number },
  call: () => Promise<EmbeddingAnswer>,
): Promise<EmbeddingAnswer> {
  const { signal, kind, workspaceId = '' } = request;
  const permit = await permits.take(model, { workspaceId, tokens, signal, maxWaitMs: maxWaitMs[kind] });
  if (permit === null) throw new EmbeddingError('rate_limited', `${model.id} is at its limits`, { retryAfterS });
  try {
    const answer = await call();
    permit.end(answer.inputTokens);
    return answer;
  } catch (error) {
    if (error instanceof EmbeddingError) pauseFor(permit, error);
    throw error;
  } finally {
    permit.end(null);
  }
}

function pauseFor(permit: Permit, { fault, retryAfterS: seconds }: EmbeddingError): void {
  if (fault === 'rate_limited' || (fault === 'unavailable' && seconds !== null)) permit.pause(seconds === null ? null : seconds * 1_000);
}
