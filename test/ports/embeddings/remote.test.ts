import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { EmbeddingError, type Embedder } from '../../../ports/embeddings/index.ts';
import { loadModelRegistry } from '../../../ports/models/models.ts';
import { send, startEmbeddingServer, type EmbeddingServer } from '../../fakes/embedding-server.ts';
import { embedderOf, registryFile } from './registry.ts';

const dim = 6;
const model = 'acme/small';
let server: EmbeddingServer;
let embedder: Embedder;

beforeAll(async () => {
  server = await startEmbeddingServer(dim);
  const entry = {
    name: 'small',
    dim,
    max_tokens: 512,
    max_batch: 3,
    query_prefix: 'query: ',
    document_prefix: 'passage: ',
    send_dimensions: true,
  };
  embedder = embedderOf({ LONGHAUL_MODEL_REGISTRY: registryFile(server.baseUrl, [entry]), ACME_API_KEY: 'canary-key' });
});
beforeEach(() => {
  server.reply = null;
  server.calls.length = 0;
});
afterAll(() => Promise.all([embedder.close(), server.close()]));

const embed = (texts: readonly string[], { kind = 'document' as 'query' | 'document', signal = AbortSignal.timeout(20_000) } = {}) =>
  embedder.embed({ model, kind, texts, signal });
const refusal = (texts: readonly string[] = ['a']) =>
  embed(texts).then(
    () => null,
    (error: unknown) => (error instanceof EmbeddingError ? error : null),
  );

test('texts go in batches with their prefix, vectors come back in the order of the texts and of length 1', async () => {
  const vectors = await embed(['a', 'b', 'c', 'd']);
  const [alone] = await embed(['b']);

  expect(server.calls.map(({ body }) => body.input)).toEqual([['passage: a', 'passage: b', 'passage: c'], ['passage: d'], ['passage: b']]);
  expect(server.calls[0]).toMatchObject({ body: { model: 'small', dimensions: dim }, headers: { authorization: 'Bearer canary-key' } });
  expect(vectors).toHaveLength(4);
  expect(vectors[1]).toEqual(alone);
  for (const vector of vectors) expect(vector.reduce((sum, value) => sum + value * value, 0)).toBeCloseTo(1);
});

test('a query has the prefix of queries', async () => {
  await embed(['where'], { kind: 'query' });

  expect(server.calls[0]?.body.input).toEqual(['query: where']);
});

test('one call tells what it took', async () => {
  const answer = await embedder.call({ model, kind: 'document', texts: ['one two', 'three'], signal: AbortSignal.timeout(5_000) });

  expect(answer).toMatchObject({ inputTokens: 5, providerRequestId: 'req_1' });
});

test.each([
  [429, { 'retry-after': '7' }, { fault: 'rate_limited', isRetryable: true, retryAfterS: 7 }],
  [429, {}, { fault: 'rate_limited', retryAfterS: null }],
  [503, { 'retry-after': '100000' }, { fault: 'unavailable', isRetryable: true, retryAfterS: 300 }],
  [500, {}, { fault: 'unavailable', isRetryable: true, hasLeft: true }],
  [401, {}, { fault: 'refused', isRetryable: false }],
  [404, {}, { fault: 'refused', isRetryable: false }],
])('status %i is what it means, without the words of the provider', async (status, headers, expected) => {
  server.reply = (call, response) => send(response, status, { error: { message: `no: ${call.body.input.join()} canary-key` } }, headers);

  const error = await refusal(['canary-text']);

  expect(error).toMatchObject(expected);
  expect(error?.message).not.toMatch(/canary/);
});

const row = (embedding: unknown, index = 0) => ({ data: [{ index, embedding }] });
test.each([
  ['other dimensions', row([1, 2])],
  ['no numbers', row(['a', 'b', 'c', 'd', 'e', 'f'])],
  ['a null among them', row([1, 2, null, 4, 5, 6])],
  ['a vector without direction', row([0, 0, 0, 0, 0, 0])],
  ['another number of vectors', { data: [] }],
  ['an index beyond the texts', row([1, 2, 3, 4, 5, 6], 4)],
  ['no list', { data: 'none' }],
  ['no JSON', 'oops'],
])('%s is no answer, and final', async (_what, body) => {
  server.reply = (_call, response) => (typeof body === 'string' ? (response.end(body), true) : send(response, 200, body));

  expect(await refusal()).toMatchObject({ fault: 'bad_answer', isRetryable: false, hasLeft: true });
});

test('two vectors for one text and none for the other are no answer', async () => {
  server.reply = (_call, response) => send(response, 200, { data: [0, 0].map((index) => ({ index, embedding: [1, 2, 3, 4, 5, 6] })) });

  expect(await refusal(['a', 'b'])).toMatchObject({ fault: 'bad_answer' });
});

test('a connection that breaks off may have been billed; one that never was may not', async () => {
  server.reply = (_call, response) => (response.destroy(), true);
  expect(await refusal()).toMatchObject({ fault: 'unavailable', hasLeft: true });

  const gone = embedderOf({
    LONGHAUL_MODEL_REGISTRY: registryFile('http://127.0.0.1:9', [{ name: 'small', dim, max_tokens: 512 }]),
    ACME_API_KEY: 'k',
  });
  const error = await gone.embed({ model, kind: 'query', texts: ['a'], signal: AbortSignal.timeout(5_000) }).catch((e: unknown) => e);
  expect(error).toMatchObject({ fault: 'unavailable', hasLeft: false });
  await gone.close();
});

test('a query gives up after five seconds, and the caller at any time', async () => {
  server.reply = () => true;
  const startedAt = performance.now();
  const abort = new AbortController();
  const given = embed(['a'], { signal: abort.signal });
  abort.abort(new Error('gone'));

  await expect(given).rejects.toThrow('gone');
  await expect(embed(['a'], { kind: 'query' })).rejects.toMatchObject({ fault: 'timeout' });
  expect(performance.now() - startedAt).toBeLessThan(45_000); // a document has a minute
});

test('a model without the key of its provider is not listed; an unknown one is refused', async () => {
  const keyless = embedderOf({
    LONGHAUL_MODEL_REGISTRY: registryFile(server.baseUrl, [{ name: 'small', dim, max_tokens: 512 }]),
    OTHER: '',
  });

  expect(embedder.models().map(({ id }) => id)).toEqual(['hash-v1', model]);
  expect(keyless.models().map(({ id }) => id)).toEqual(['hash-v1']);
  await expect(keyless.embed({ model, kind: 'query', texts: ['a'], signal: AbortSignal.timeout(1_000) })).rejects.toMatchObject({
    fault: 'unknown_model',
  });
  await keyless.close();
});

test('EMBEDDING_MODEL names the model of the deployment, and nothing that it does not have', () => {
  const load = (env: Record<string, string>) => loadModelRegistry(env, { info: () => undefined }).embeddings.defaultModel;
  const own = { LONGHAUL_MODEL_REGISTRY: registryFile(server.baseUrl, [{ name: 'small', dim, max_tokens: 512 }]), ACME_API_KEY: 'k' };

  expect(load({})).toBe('hash-v1');
  expect(load({ EMBEDDING_MODEL_DIR: '/nowhere' })).toBe('hash-v1');
  expect(load({ EMBEDDING_MODEL: 'none' })).toBe('none');
  expect(load({ ...own, EMBEDDING_MODEL: model })).toBe(model);
  expect(() => load({ EMBEDDING_MODEL: model })).toThrow(/EMBEDDING_MODEL: acme\/small is no embedding model/);
  expect(() => load({ EMBEDDING_MODEL: 'minilm-l6-v2' })).toThrow(/EMBEDDING_MODEL: minilm-l6-v2.*EMBEDDING_MODEL_DIR/);
});

test('bad entries are named by their place', () => {
  const load = (entry: Record<string, unknown>) => () =>
    embedderOf({ LONGHAUL_MODEL_REGISTRY: registryFile(server.baseUrl, [entry]), ACME_API_KEY: 'k' });

  expect(load({ name: 'small', dim: 4_000, max_tokens: 512 })).toThrow(/\/models\/2\/dim/);
  expect(load({ name: 'small', max_tokens: 512 })).toThrow(/\/models\/2.*dim/);
  expect(load({ name: 'small', id: 'hash-v1', dim: 4, max_tokens: 512 })).toThrow(/two models are called hash-v1/);
  expect(load({ name: 'small', provider: 'nobody', dim: 4, max_tokens: 512 })).toThrow(/unknown provider nobody/);
});
