import { afterMs } from '../deadline.ts';
import { EmbeddingError } from './errors.ts';
import type { Embedder } from './index.ts';

/** The vector of a query, or why a search goes on without it. */
export type QueryEmbedding = { readonly vector: Float32Array } | { readonly reason: 'provider_failed' | 'provider_timeout' | 'budget' };

/** How long a search waits for a model. */
export const maxQueryWaitMs = 5_000;

/** Computes the vector of a query with a model that costs nothing; a failure of the model is returned as a reason, not thrown. */
export async function embedQuery(embedder: Pick<Embedder, 'embed'>, model: string, text: string): Promise<QueryEmbedding> {
  const deadline = new AbortController();
  const late = Promise.withResolvers<never>();
  const cancel = afterMs(maxQueryWaitMs, () => {
    const timeout = new EmbeddingError('timeout', 'the model took too long');
    deadline.abort(timeout);
    // A model that ignores the signal does not delay the search either.
    late.reject(timeout);
  });
  try {
    const [vector] = await Promise.race([embedder.embed({ model, kind: 'query', texts: [text], signal: deadline.signal }), late.promise]);
    return vector ? { vector } : { reason: 'provider_failed' };
  } catch (error) {
    if (!(error instanceof EmbeddingError)) throw error;
    return { reason: error.fault === 'timeout' ? 'provider_timeout' : 'provider_failed' };
  } finally {
    cancel();
  }
}
