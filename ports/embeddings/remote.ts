import { Agent, request as send, type Dispatcher } from 'undici';
import { deadlineIn } from '../deadline.ts';
import { EmbeddingError } from './errors.ts';
import { toUnitLength } from './hash.ts';
import type { EmbeddingAnswer, EmbeddingRequest } from './index.ts';
import type { ResolvedEmbedding } from './registry.ts';

/** An embedding model behind HTTP. */
export type RemoteEmbedding = Extract<ResolvedEmbedding, { adapter: 'remote' }>;

/** Embedding models behind HTTP. The operator configures them, so their requests bypass the egress guard, like those of model providers. */
export interface RemoteModels {
  /** Sends one request to `POST {base_url}/embeddings`, as in OpenAI's reference. Throws an EmbeddingError or the signal's reason. */
  call(model: RemoteEmbedding, request: EmbeddingRequest): Promise<EmbeddingAnswer>;
  close(): Promise<void>;
}

/** A search waits for the vector of its query; documents may take longer. */
const maxMs = { query: 5_000, document: 60_000 } as const;
/** A thousand texts of 3,072 dimensions in decimal digits. */
const maxAnswerBytes = 64 * 1_024 * 1_024;
const maxRetryAfterS = 300;

/** Connections to providers are kept open and closed with the process. */
export function createRemoteModels(): RemoteModels {
  const agent = new Agent({ connect: { timeout: 10_000 }, allowH2: false, maxResponseSize: maxAnswerBytes });

  return {
    async call(model, request) {
      const deadline = deadlineIn(maxMs[request.kind]);
      const signal = AbortSignal.any([request.signal, deadline]);
      try {
        const response = await post(agent, model, { request, signal });
        return readAnswer(await response.body.text(), response, { model, texts: request.texts.length });
      } catch (error) {
        if (error instanceof EmbeddingError) throw error;
        request.signal.throwIfAborted();
        if (deadline.aborted) throw new EmbeddingError('timeout', `${model.id} did not answer in time`, { hasLeft: true });
        throw new EmbeddingError('unavailable', `${model.id} can't be reached (${codeOf(error)})`, { hasLeft: hasLeft(error) });
      }
    },
    close: () => agent.destroy(),
  };
}

async function post(
  dispatcher: Dispatcher,
  model: RemoteEmbedding,
  { request, signal }: { readonly request: EmbeddingRequest; readonly signal: AbortSignal },
): Promise<Dispatcher.ResponseData> {
  const { baseUrl, apiKey } = model.connection;
  const prefix = request.kind === 'query' ? model.queryPrefix : model.documentPrefix;
  const key = apiKey();
  const response = await send(`${(baseUrl ?? '').replace(/\/+$/, '')}/embeddings`, {
    dispatcher,
    signal,
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key === null ? {} : { authorization: `Bearer ${key}` }) },
    body: JSON.stringify({
      model: model.name,
      input: request.texts.map((text) => prefix + text),
      encoding_format: 'float',
      ...(model.sendsDimensions ? { dimensions: model.dim } : {}),
    }),
  });
  if (response.statusCode !== 200) throw await refusalOf(model, response);
  return response;
}

/** Maps an answer with an error status. Its text is the provider's and may repeat what was sent, so it is not passed on. */
async function refusalOf(model: RemoteEmbedding, { statusCode, headers, body }: Dispatcher.ResponseData): Promise<EmbeddingError> {
  await body.dump();
  const message = `${model.id} answered ${statusCode}`;
  const retryAfterS = secondsOf(headers['retry-after']);
  if (statusCode === 429) return new EmbeddingError('rate_limited', message, { retryAfterS });
  if (statusCode === 408 || statusCode >= 500) return new EmbeddingError('unavailable', message, { retryAfterS, hasLeft: true });
  return new EmbeddingError('refused', message);
}

/** Reads `Retry-After` (RFC 9110, 10.2.3): seconds or a date; null when it is neither. */
function secondsOf(header: string | string[] | undefined): number | null {
  const text = Array.isArray(header) ? header[0] : header;
  if (text === undefined || text.trim() === '') return null;
  const seconds = /^\d+$/.test(text.trim()) ? Number(text) : (Date.parse(text) - Date.now()) / 1_000;
  return Number.isFinite(seconds) ? Math.min(maxRetryAfterS, Math.max(0, Math.ceil(seconds))) : null;
}

/** Returns the vectors in the order of the texts, whatever the order of the answer. */
function readAnswer(
  text: string,
  { headers }: Pick<Dispatcher.ResponseData, 'headers'>,
  { model, texts }: { readonly model: RemoteEmbedding; readonly texts: number },
): EmbeddingAnswer {
  const body = parsed(text);
  const rows = Array.isArray(body?.['data']) ? body['data'].map(recordOf) : [];
  if (rows.length !== texts) throw badAnswer(model, `${rows.length} vectors for ${texts} texts`);

  const vectors: Float32Array[] = [];
  for (const [at, row] of rows.entries()) {
    const index = typeof row?.['index'] === 'number' ? row['index'] : at;
    if (!Number.isInteger(index) || index < 0 || index >= texts || vectors[index] !== undefined)
      throw badAnswer(model, 'indexes that do not fit');
    vectors[index] = vectorIn(row?.['embedding'], model);
  }
  const id = headers['x-request-id'];
  return { vectors, inputTokens: tokensIn(body), providerRequestId: typeof id === 'string' ? id.slice(0, 200) : null };
}

function vectorIn(value: unknown, model: RemoteEmbedding): Float32Array {
  if (!Array.isArray(value) || value.length !== model.dim) {
    throw badAnswer(model, `a vector of ${Array.isArray(value) ? value.length : 'no'} dimensions instead of ${model.dim}`);
  }
  const vector = Float32Array.from(value, (number) => (typeof number === 'number' ? number : Number.NaN));
  if (vector.some((number) => !Number.isFinite(number)) || vector.every((number) => number === 0))
    throw badAnswer(model, 'a vector without direction');
  return toUnitLength(vector);
}

/** Returns the billed tokens: `usage.prompt_tokens`, otherwise `usage.total_tokens`. */
function tokensIn(body: Readonly<Record<string, unknown>> | null): number | null {
  const usage = recordOf(body?.['usage']);
  const found = [usage?.['prompt_tokens'], usage?.['total_tokens']].find((count) => typeof count === 'number' && count > 0);
  return typeof found === 'number' && Number.isFinite(found) ? Math.round(found) : null;
}

function badAnswer(model: RemoteEmbedding, what: string): EmbeddingError {
  return new EmbeddingError('bad_answer', `${model.id} gave ${what}`, { hasLeft: true });
}

function parsed(text: string): Readonly<Record<string, unknown>> | null {
  try {
    return recordOf(JSON.parse(text));
  } catch {
    return null;
  }
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> | null {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown>) : null; // any object has keys
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'broken off';
}

/** Whether the request may have arrived: not when there was no connection. */
function hasLeft(error: unknown): boolean {
  return !/^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/.test(codeOf(error));
}
