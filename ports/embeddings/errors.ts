/** Why there is no vector. */
export type EmbeddingFault =
  /** The model is not one of this deployment's. */
  | 'unknown_model'
  /** The provider asks to come later (429). */
  | 'rate_limited'
  /** The provider or the thread does not answer now: 5xx, no connection, a lost thread. */
  | 'unavailable'
  /** No answer in time. */
  | 'timeout'
  /** The provider refuses the request: a wrong key, an unknown name, a text it does not take. */
  | 'refused'
  /** An answer that is none: other dimensions, another number of vectors, no numbers. */
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
  /** What the provider asked to wait, in seconds; null where it said nothing. */
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
