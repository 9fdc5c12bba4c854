import { afterMs } from '../deadline.ts';
import { EmbeddingError } from './errors.ts';
import type { Embedder } from './index.ts';

/** The vector of a query, or why a search goes without it. */
export type QueryEmbedding = { readonly vector: Float32Array } | { readonly reason: 'provider_failed' | 'provider_timeout' | 'budget' };

/** As long as a search waits for a model. */
export const maxQueryWaitMs = 5_000;

/** Makes the vector of a query by a model that costs nothing; whatever keeps the model from it is an answer and no error. */
export async function embedQuery(embedder: Pick<Embedder, 'embed'>, model: string, text: string): Promise<QueryEmbedding> {
  const deadline = new AbortController();
  const late = Promise.withResolvers<never>();
  const cancel = afterMs(maxQueryWaitMs, () => {
    const timeout = new EmbeddingError('timeout', 'the model took too long');
    deadline.abort(timeout);
    // A model that pays no heed to the signal holds nobody up either.
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
