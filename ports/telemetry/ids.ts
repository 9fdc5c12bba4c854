/** Ids for the next span that is started; what is missing is random. */
export interface SpanIds {
  readonly traceId?: string;
  readonly spanId?: string;
}

let given: SpanIds = {};

/** Starts a span with given ids. The SDK asks its generator for ids (`givenIds`) while it starts a span, which is synchronous. */
export function withIds<Span>(ids: SpanIds, start: () => Span): Span {
  given = ids;
  try {
    return start();
  } finally {
    given = {};
  }
}

/** Returns the ids for the span that is being started. */
export function givenIds(): SpanIds {
  return given;
}
