/** Why there is no vector. */
export type EmbeddingFault =
  /** This deployment does not have the model. */
  | 'unknown_model'
  /** The provider asks to come again later (429). */
  | 'rate_limited'
  /** The provider or the model's process does not answer now: 5xx, no connection, a lost process. */
  | 'unavailable'
  /** No answer in time. */
  | 'timeout'
  /** The provider refuses the request: a wrong key, an unknown name, a text it does not accept. */
  | 'refused'
  /** An invalid answer: other dimensions, another number of vectors, no numbers. */
  | 'bad_answer';

const retryable: Readonly<Record<EmbeddingFault, boolean>> = {
  unknown_model: false,
  rate_limited: true,
  unavailable: true,
  timeout: true,
  refused: false,
  bad_answer: false,
};

/** Thrown by an Embedder. The message holds neither a text nor a key. */
export class EmbeddingError extends Error {
  override readonly name = 'EmbeddingError';
  readonly fault: EmbeddingFault;
  /** The delay that the provider asked for, in seconds; null when it named none. */
  readonly retryAfterS: number | null;
  /** The request may have reached the provider and may be billed. */
  readonly hasLeft: boolean;

  constructor(
    fault: EmbeddingFault,
    message: string,
    { retryAfterS = null, hasLeft = false }: { retryAfterS?: number | null; hasLeft?: boolean } = {},
  ) {
    super(message);
    this.fault = fault;
    this.retryAfterS = retryAfterS;
    this.hasLeft = hasLeft;
  }

  get isRetryable(): boolean {
    return retryable[this.fault];
  }
}
