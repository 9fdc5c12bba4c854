import type { HttpAuth } from '../../../db/tools/tool-config.ts';
import type { AccessTokens } from './access-tokens.ts';
import type { HttpRequest } from './http-request.ts';
import { formPair, withoutName, withPairs } from './query-pairs.ts';
import { failed, type GuardedExecution, type ToolOutcome } from '../calls/outcome.ts';

export interface Credential {
  readonly request: HttpRequest;
  /** The access token that the request carries, in case it is refused. */
  readonly token: string | null;
}

/** Returns the request with the credential that the tool names, or the result of a call that has none. */
export async function withCredential(
  tokens: AccessTokens,
  execution: GuardedExecution,
  { request, auth, refused }: { readonly request: HttpRequest; readonly auth: HttpAuth; readonly refused?: string },
): Promise<Credential | { readonly outcome: ToolOutcome }> {
  if (auth.type === 'none') return { request, token: null };
  const secret = await execution.secret(auth.secret);
  if (secret === null) return { outcome: failed('secret_missing', `the secret ${auth.secret} has no value`, false) };
  if (auth.type !== 'oauth2_client_credentials') {
    if (auth.type === 'basic') execution.conceal(auth.secret, basicPair(auth.user, secret));
    return { request: carrying(request, auth, secret), token: null };
  }

  const answer = await tokens.take(execution, { auth, clientSecret: secret, ...(refused === undefined ? {} : { refused }) });
  if ('outcome' in answer) return answer;
  execution.conceal(auth.secret, answer.token);
  return { request: withHeader(request, 'authorization', `Bearer ${answer.token}`), token: answer.token };
}

/** Returns the request as it is displayed, with the name of the secret in place of the credential. */
export function withNamedCredential(request: HttpRequest, auth: HttpAuth): HttpRequest {
  if (auth.type === 'none') return request;
  const name = `[secret:${auth.secret}]`;
  if (auth.type === 'basic') return withHeader(request, 'authorization', `Basic ${name}`);
  if (auth.type === 'oauth2_client_credentials') return withHeader(request, 'authorization', `Bearer ${name}`);
  if (auth.type === 'api_key' && auth.in === 'query')
    return { ...request, url: withPairs(withoutName(request.url, auth.name), [[encodeURIComponent(auth.name), name]]) };
  return carrying(request, auth, name);
}

function carrying(
  request: HttpRequest,
  auth: Exclude<HttpAuth, { readonly type: 'none' | 'oauth2_client_credentials' }>,
  secret: string,
): HttpRequest {
  switch (auth.type) {
    case 'bearer':
      return withHeader(request, 'authorization', `Bearer ${secret}`);
    case 'basic':
      return withHeader(request, 'authorization', `Basic ${basicPair(auth.user, secret)}`);
    case 'api_key': {
      if (auth.in === 'header') return withHeader(request, auth.name, secret);
      // An argument can't replace it, and what the arguments contributed stays as it is written.
      return { ...request, url: withPairs(withoutName(request.url, auth.name), [formPair(auth.name, secret)]) };
    }
    default:
      return auth satisfies never;
  }
}

function basicPair(user: string, password: string): string {
  return Buffer.from(`${user}:${password}`).toString('base64');
}

function withHeader(request: HttpRequest, name: string, value: string): HttpRequest {
  return { ...request, headers: { ...request.headers, [name.toLowerCase()]: value } };
}
