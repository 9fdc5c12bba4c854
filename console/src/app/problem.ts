import { ApiError, ConnectionError, type ErrorEnvelope } from '@longhaul/client';

/** Reads the envelope of a refusal; null: the answer comes from something between us and the API. The answer itself stays unread. */
export async function decodeProblem(answer: Response): Promise<ErrorEnvelope | null> {
  const body: unknown = await answer
    .clone()
    .json()
    .catch(() => null);
  if (typeof body !== 'object' || body === null || !('code' in body) || !('correlation_id' in body)) return null;
  return body as ErrorEnvelope; // told by its two ids
}

/** What to throw for a refusal that the client has not seen. */
export async function thrownFor(answer: Response): Promise<Error> {
  const problem = await decodeProblem(answer);
  return problem === null ? new ConnectionError(`an answer ${answer.status} that is not the API's`) : new ApiError(problem);
}

export function reasonOf({ context }: Pick<ErrorEnvelope, 'context'>): string | null {
  const reason = context['reason'];
  return typeof reason === 'string' ? reason : null;
}

/** Whether the API could not be asked at all. */
export function isUnreachable(error: unknown): boolean {
  return error instanceof ConnectionError || (error instanceof ApiError && error.code === 'unreadable_reply');
}
