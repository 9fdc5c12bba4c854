import { countFurther } from '../http/operation/request-checks.ts';
import { logFailure, toFailure } from '../http/reply/error-envelope.ts';
import { stateOf } from '../http/operation/request-state.ts';
import { eraOf } from './era.ts';
import { newExchange, type Http, type RawCtx } from './exchange.ts';
import { errorText, idIn, invalidMessage, messageOf, rpcCodes, RpcError, type RpcMessage, type RpcRequest } from './json-rpc.ts';
import { answerOf } from './methods.ts';
import { demandSession } from './session.ts';
import { demandScopes } from './step-up.ts';
import { toolOf } from './tool-call.ts';
import { answerWhenDone } from './waiting-answer.ts';
import type { FastifyRequest } from 'fastify';
import type { Caller } from '../../db/caller.ts';
import { authenticate } from '../http/credentials/authenticate.ts';
import type { Deps } from '../http/operation/deps.ts';
import { checkFloor, refuseRestricted } from '../http/credentials/role-floor.ts';

/** An entry of a batch: a message, or why it is not one. */
type Entry =
  | { readonly kind: 'message'; readonly message: RpcMessage }
  | { readonly kind: 'broken'; readonly value: unknown; readonly error: RpcError };

/** The specification sets no maximum; each message may start a run or wait for one. */
export const maxMessages = 20;
/** The only revision with batches. Its clients send no version header: the next revision introduced it. */
const version = '2025-03-26';

/**
 * Answers the messages of one body (MCP 2025-03-26, Streamable HTTP; JSON-RPC 2.0 §6) as if each had come alone: the rate limits count each, and the credential
 * is checked again before each request but the first. Requests are executed in order, and none begins after the client has disconnected. Throws RpcError 400
 * for a batch that is empty, too long or of another revision, and what a single message throws for its MCP session, limits and scopes; in these cases no
 * request has been executed.
 */
export async function answerBatch(ctx: RawCtx, http: Http, values: readonly unknown[]): Promise<void> {
  refuseUnfit(values, http);
  await demandSession(ctx, http);
  await countFurther(ctx.deps, http.request, values.length - 1);

  const entries = values.map(entryOf);
  const requests = entries.flatMap((entry) => (entry.kind === 'message' && entry.message.kind === 'request' ? [entry.message] : []));
  demandScopes(
    ctx,
    requests.flatMap((request) => toolOf(ctx, request) ?? []),
  );
  const answered = entries.filter((entry) => entry.kind === 'broken' || entry.message.kind === 'request');
  if (answered.length === 0) {
    http.reply.code(202).send();
    return;
  }
  await answerWhenDone(http, {
    progressToken: null,
    work: async (signal) => `[${(await answers(ctx, http, { answered, signal })).join()}]`,
  });
}

function refuseUnfit(values: readonly unknown[], { request }: Http): void {
  const named = request.headers['mcp-protocol-version'];
  if (values.length === 0) throw invalidMessage('A batch must contain at least one message.');
  if (named !== undefined && named !== version) throw invalidMessage(`Send one message per body: only ${version} supports batches.`);
  if (values.length > maxMessages) throw invalidMessage(`A batch must contain at most ${maxMessages} messages.`);
}

function entryOf(value: unknown): Entry {
  try {
    return { kind: 'message', message: messageOf(value) };
  } catch (error) {
    if (error instanceof RpcError) return { kind: 'broken', value, error: error };
    throw error;
  }
}

/** Returns the answers as JSON texts, in the order of their requests. */
async function answers(
  ctx: RawCtx,
  http: Http,
  { answered, signal }: { answered: readonly Entry[]; signal: AbortSignal },
): Promise<readonly string[]> {
  const texts: string[] = [];
  for (const [at, entry] of answered.entries()) {
    if (signal.aborted) break;
    if (entry.kind === 'broken') texts.push(errorText(idIn(entry.value), entry.error));
    else if (entry.message.kind === 'request') texts.push(await answer(ctx, http, { request: entry.message, isFirst: at === 0, signal }));
  }
  return texts;
}

async function answer(
  ctx: RawCtx,
  http: Http,
  { request, isFirst, signal }: { request: RpcRequest; isFirst: boolean; signal: AbortSignal },
): Promise<string> {
  try {
    if (request.method === 'initialize') throw invalidMessage('initialize must not be part of a batch.');
    if (eraOf(request, http.request.headers) === 'stateless') throw invalidMessage(`Only ${version} supports batches.`);
    const caller = isFirst ? ctx.caller : await callerNow(ctx.deps, http.request);
    stateOf(http.request).caller = caller;
    return await answerOf(newExchange({ deps: ctx.deps, log: ctx.log, caller }, http, 'session'), request).work(signal);
  } catch (error) {
    if (error instanceof RpcError) return errorText(request.id, error);
    const failure = toFailure(error);
    logFailure(http.request.log, failure);
    return errorText(request.id, new RpcError(rpcCodes.refused, failure.detail, { details: { code: failure.code } }));
  }
}

/** Returns the current caller of a long request: authenticates its credential again, as at its start. Throws what a new request with it would throw. */
export async function callerNow(deps: Deps, request: FastifyRequest): Promise<Caller> {
  const { operation } = stateOf(request);
  const caller = await authenticate(deps, request, operation);
  if (operation) {
    refuseRestricted(operation, caller);
    checkFloor(operation, caller, deps.env.publicUrl);
  }
  return caller;
}
