import { connection } from './connection.ts';
import { pace } from './pace.ts';
import { decodeProblem, reasonOf } from './problem.ts';
import { impersonation, viewHeaders } from './standing.ts';
import { session, SignedOutError } from './session.ts';
import { askStepUp } from './step-up-requests.ts';

/**
 * `fetch` for the API: carries the access token, gets a new one when it has ended, asks for the second factor when an operation wants a fresh one, and then
 * sends the same request again, with its Idempotency-Key. A refused session ends in all tabs.
 */
export async function sessionFetch(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
  const request = new Request(input, init);
  let hasRefreshed = false;
  let hasSteppedUp = false;
  for (;;) {
    const own = session.accessToken();
    if (own === null) return signedOutReply();
    const acting = impersonation.get();
    const token = acting?.token ?? own;
    const answer = await send(request.clone(), token);
    if (answer.status === 429) await slowDown(answer);
    if (answer.status !== 401) return answer;

    const problem = await decodeProblem(answer);
    if (acting !== null && problem?.code !== 'mfa_required') {
      // It ends by time, or by another tab or operator: the tab goes on as the operator.
      impersonation.end();
      return answer;
    }
    if (problem?.code === 'token_expired' && !hasRefreshed) {
      hasRefreshed = true;
      if (await isRefreshed(token)) continue;
      return answer;
    }
    if (problem?.code === 'mfa_required' && reasonOf(problem) === 'step_up_required' && !hasSteppedUp) {
      hasSteppedUp = true;
      if (await askStepUp()) continue;
      return answer;
    }
    if (problem?.code === 'session_revoked') session.ended('session_revoked');
    else if (problem?.code === 'credential_invalid' || problem?.code === 'unauthenticated' || problem?.code === 'token_expired')
      session.ended('expired');
    return answer;
  }
}

/** Notes that a quota of requests is used up. Other limits, such as that of live runs, concern one operation and no polling. */
async function slowDown(answer: Response): Promise<void> {
  const problem = await decodeProblem(answer);
  if (problem !== null && 'violated_policies' in problem.context) pace.pause(problem.retry_after_s ?? 1);
}

/** False when the session is over. */
async function isRefreshed(stale: string): Promise<boolean> {
  try {
    await session.refresh(stale);
    return true;
  } catch (error) {
    if (error instanceof SignedOutError) return false;
    throw error;
  }
}

async function send(request: Request, token: string): Promise<Response> {
  request.headers.set('authorization', `Bearer ${token}`);
  for (const [name, value] of Object.entries(viewHeaders())) request.headers.set(name, value);
  try {
    const answer = await fetch(request);
    connection.heard(answer.status);
    return answer;
  } catch (error) {
    if (!request.signal.aborted) connection.heard(0);
    throw error;
  }
}

/** Nothing leaves without a session; whoever waits for an answer gets the one that the API would give. */
function signedOutReply(): Response {
  const problem = {
    status: 401,
    code: 'session_revoked',
    title: '',
    detail: '',
    retryable: false,
    correlation_id: '',
    errors: [],
    context: {},
  };
  return Response.json(problem, { status: 401 });
}
