import type { HttpToolConfig } from '../../../db/tools/tool-config.ts';
import { completeHttpConfig, type HttpConfigDraft } from '../../../domain/tools/tool-config.ts';
import type { EgressResponse } from '../../../ports/egress/egress.ts';
import type { AccessTokens } from './access-tokens.ts';
import type { ToolDeps } from '../tool-deps.ts';
import { withCredential, withNamedCredential } from './http-auth.ts';
import { renderRequest, type HttpRequest } from './http-request.ts';
import { failed, type GuardedExecution, type ToolExecution, type ToolOutcome } from '../calls/outcome.ts';
import { bodyOutcome } from '../calls/output.ts';

/** The characters of a header value (RFC 9110 §5.5), beyond ASCII as Latin-1. */
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/;
const maxBytes = 10 * 1024 * 1024;

type HttpDeps = Pick<ToolDeps, 'egress' | 'templates'> & { readonly tokens: AccessTokens };

/** Sends the one request that the tool describes, through the egress guard, and returns its body as text, JSON or a file. */
export async function executeHttp(deps: HttpDeps, execution: GuardedExecution): Promise<ToolOutcome> {
  const config = configOf(execution);
  const rendered = await renderRequest(deps.templates.of(execution.place.organizationId), config, execution);
  if ('outcome' in rendered) return rendered.outcome;
  let carried = await withCredential(deps.tokens, execution, { request: rendered, auth: config.auth });
  if ('outcome' in carried) return carried.outcome;
  let answer = await send(deps, execution, { config, request: carried.request });
  if (answer !== null && answer.status === 401 && carried.token !== null) {
    // The server has not processed the request: its token expired early.
    carried = await withCredential(deps.tokens, execution, { request: rendered, auth: config.auth, refused: carried.token });
    if ('outcome' in carried) return carried.outcome;
    answer = await send(deps, execution, { config, request: carried.request });
  }
  if (answer === null) return failed('invalid_arguments', 'a header value holds characters that HTTP does not allow', false, 'header');
  return outcomeOf(answer, config.response, execution.mask);
}

/** Returns the request that a call would send, with secrets by name; or the result that the call would have instead. */
export async function describeHttp(
  { templates }: Pick<ToolDeps, 'templates'>,
  execution: ToolExecution,
): Promise<HttpRequest | { readonly outcome: ToolOutcome }> {
  const config = configOf(execution);
  const rendered = await renderRequest(templates.of(execution.place.organizationId), config, execution);
  return 'outcome' in rendered ? rendered : withNamedCredential(rendered, config.auth);
}

/** Returns the config as the API stored it; versions from before a field existed get its default. */
function configOf({ tool }: ToolExecution): HttpToolConfig {
  return completeHttpConfig(tool.config as unknown as HttpConfigDraft); // the API has validated it against its kind
}

/** Returns null when a header can't be sent. */
async function send(
  { egress }: HttpDeps,
  execution: GuardedExecution,
  { config, request }: { readonly config: HttpToolConfig; readonly request: HttpRequest },
): Promise<EgressResponse | null> {
  if (Object.values(request.headers).some((value) => !headerValue.test(value))) return null;
  return egress.fetch({
    method: request.method,
    url: request.url,
    headers: request.headers,
    ...(request.body === null ? {} : { body: request.body }),
    policy: execution.policy,
    redirects: config.redirects,
    maxBytes,
    headersTimeoutMs: 2 * execution.timeoutMs, // the deadline of the execution fires first
    signal: execution.signal,
  });
}

function outcomeOf(answer: EgressResponse, response: HttpToolConfig['response'], mask: (text: string) => string): ToolOutcome {
  const { pointer, success } = response;
  const isSuccess = success.length === 0 ? answer.status >= 200 && answer.status < 300 : success.includes(answer.status);
  if (isSuccess) return bodyOutcome(answer, pointer ?? '');
  // Masked before truncating: half a secret would go unmasked.
  const excerpt = mask(excerptOf(bodyOutcome(answer))).slice(0, 600);
  const retryable = answer.status === 408 || answer.status === 429 || answer.status >= 500;
  return failed('upstream_status', `the server answered ${answer.status}: ${excerpt}`, retryable, String(answer.status));
}

function excerptOf(outcome: ToolOutcome): string {
  if (outcome.status !== 'succeeded') return '';
  return outcome.type === 'json' ? JSON.stringify(outcome.value) : outcome.text;
}
