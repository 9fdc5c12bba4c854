import { createHash } from 'node:crypto';
import type { HttpAuth } from '../../../db/tools/tool-config.ts';
import { readBodyText } from '../../../ports/egress/body-text.ts';
import { EgressUnreachable, type Egress, type EgressResponse } from '../../../ports/egress/egress.ts';
import { failed, toolError, type ToolExecution, type ToolOutcome } from '../calls/outcome.ts';

type ClientCredentials = Extract<HttpAuth, { readonly type: 'oauth2_client_credentials' }>;

/** A token, or the result of the call when no token is available. */
export type TokenAnswer = { readonly token: string } | { readonly outcome: ToolOutcome };

export interface TokenRequest {
  readonly auth: ClientCredentials;
  readonly clientSecret: string;
  /** A token that the server has just refused: it is not returned again. */
  readonly refused?: string;
}

/** Access tokens of one process, by client credentials (RFC 6749 §4.4), each cached until shortly before it expires. */
export interface AccessTokens {
  take(execution: ToolExecution, request: TokenRequest): Promise<TokenAnswer>;
}

interface StoredToken {
  readonly token: string;
  readonly until: number;
}

const maxKept = 500;
const maxBytes = 64 * 1024;
const earlyMs = 30_000;
const maxLifeMs = 3_600_000;

export function createAccessTokens(egress: Egress): AccessTokens {
  const kept = new Map<string, StoredToken>();

  return {
    async take(execution, request) {
      const key = keyOf(execution, request);
      const known = kept.get(key);
      if (known && known.until > Date.now() && known.token !== request.refused) return { token: known.token };

      const answer = await ask(egress, execution, request);
      if ('outcome' in answer) return answer;
      if (kept.size >= maxKept) kept.delete(kept.keys().next().value ?? '');
      kept.set(key, answer);
      return { token: answer.token };
    },
  };
}

/** A change of the secret or of any other part leads to a different token; no tenant ever gets another tenant's token. */
function keyOf({ place, tool }: ToolExecution, { auth, clientSecret }: TokenRequest): string {
  const parts = [place.organizationId, place.workspaceId, tool.toolId, auth.token_url, auth.client_id, auth.scope, clientSecret];
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64');
}

/** Tries HTTP Basic first, which every server must support (RFC 6749 §2.3.1), then the request body for servers that don't. */
async function ask(
  egress: Egress,
  execution: ToolExecution,
  request: TokenRequest,
): Promise<StoredToken | { readonly outcome: ToolOutcome }> {
  try {
    const first = await post(egress, execution, { request, inBody: false });
    const isRefused = first.status === 400 || first.status === 401;
    return read(isRefused ? await post(egress, execution, { request, inBody: true }) : first);
  } catch (error) {
    // The tool's own request has not been sent, whatever happened to this one.
    if (error instanceof EgressUnreachable)
      return { outcome: failed('upstream_unreachable', 'the token server can not be reached', true, 'token') };
    if (execution.signal.aborted && error instanceof DOMException && error.name === 'TimeoutError')
      return { outcome: { status: 'timed_out', error: toolError('timed_out', 'the token server did not answer in time', true, 'token') } };
    throw error;
  }
}

function post(
  egress: Egress,
  execution: ToolExecution,
  { request, inBody }: { readonly request: TokenRequest; readonly inBody: boolean },
): Promise<EgressResponse> {
  const { auth, clientSecret } = request;
  const form = new URLSearchParams({ grant_type: 'client_credentials' });
  if (auth.scope !== null) form.set('scope', auth.scope);
  if (inBody) {
    form.set('client_id', auth.client_id);
    form.set('client_secret', clientSecret);
  }
  const pair = `${formEncoded(auth.client_id)}:${formEncoded(clientSecret)}`;
  return egress.fetch({
    method: 'POST',
    url: auth.token_url,
    headers: {
      'accept': 'application/json',
      'content-type': 'application/x-www-form-urlencoded',
      ...(inBody ? {} : { authorization: `Basic ${Buffer.from(pair).toString('base64')}` }),
    },
    body: form.toString(),
    policy: execution.policy,
    redirects: 0,
    maxBytes,
    signal: execution.signal,
  });
}

function read(answer: EgressResponse): StoredToken | { readonly outcome: ToolOutcome } {
  const body = jsonOf(answer);
  const { access_token: token, token_type: type, expires_in: seconds, error } = body;
  const isToken = answer.status === 200 && typeof token === 'string' && token !== '' && String(type).toLowerCase() === 'bearer';
  if (!isToken) {
    // Only the code, which RFC 6749 §5.2 defines: a description may echo the request.
    const code = typeof error === 'string' && /^[a-z_]{1,40}$/.test(error) ? ` (${error})` : '';
    const isOurs = answer.status < 500 && answer.status !== 429;
    return {
      outcome: failed(isOurs ? 'auth_required' : 'upstream_status', `the token server answered ${answer.status}${code}`, !isOurs, 'token'),
    };
  }
  const lifeMs = typeof seconds === 'number' && seconds > 0 ? seconds * 1_000 : 300_000;
  return { token, until: Date.now() + Math.min(lifeMs, maxLifeMs) - earlyMs };
}

function jsonOf({ body, headers }: EgressResponse): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(readBodyText({ bytes: body, contentType: headers['content-type'] ?? 'application/json' }) ?? '');
    return value !== null && typeof value === 'object' ? { ...value } : {};
  } catch {
    return {};
  }
}

function formEncoded(text: string): string {
  return new URLSearchParams({ v: text }).toString().slice(2);
}
