import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { EmbeddingError, type Embedder } from '../../../ports/embeddings/index.ts';
import { createModelProcess } from '../../../ports/embeddings/model-process.ts';
import { testModelFiles } from '../../support/model-files.ts';
import { embedderOf } from './registry.ts';

const model = 'minilm-l6-v2';
let embedder: Embedder;

beforeAll(async () => {
  embedder = embedderOf({ EMBEDDING_MODEL_DIR: await testModelFiles() });
}, 120_000);
afterAll(() => embedder.close());

const vectorsOf = (texts: readonly string[], kind: 'query' | 'document' = 'document') =>
  embedder.embed({ model, kind, texts, signal: AbortSignal.timeout(60_000) });
const cosine = (a: ArrayLike<number>, b: ArrayLike<number>) => Array.from(a).reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);

test('with its files the model is listed and the default', () => {
  expect(embedder.defaultModel).toBe(model);
  expect(embedder.find(model)).toMatchObject({ dim: 384, maxTokens: 256, free: true, inProcess: true, maxBatch: 8 });
});

/** Made with Python's onnxruntime 1.27 and tokenizers from the same file, the mean of the hidden states by numpy: nothing of ours is in them. */
const recorded: readonly { text: string | null; tokens: number; vector: number[] }[] = JSON.parse(
  readFileSync(join(import.meta.dirname, 'minilm-vectors.json'), 'utf8'),
);
const longText = 'unaffordable '.repeat(400);

test('vectors are those of the same file under another implementation, whatever they are batched with', async () => {
  const together = await vectorsOf(recorded.map(({ text }) => text ?? longText));

  for (const [at, { text, tokens, vector }] of recorded.entries()) {
    const [alone] = await vectorsOf([text ?? longText]);
    expect(cosine(together[at] ?? [], vector)).toBeGreaterThan(0.9999);
    expect(cosine(alone ?? [], together[at] ?? [])).toBeGreaterThan(0.9999);
    if (text !== null) expect(embedder.find(model)?.countTokens(text)).toBe(tokens - 2);
  }
});

test('they are close to those that sentence-transformers documents for the model with all its bits', async () => {
  // https://sbert.net/docs/quickstart.html
  const vectors = await vectorsOf(['The weather is lovely today.', "It's so sunny outside!", 'He drove to the stadium.']);
  const published = [
    [1, 0.666, 0.1046],
    [0.666, 1, 0.1411],
    [0.1046, 0.1411, 1],
  ];

  for (const [row, a] of vectors.entries())
    for (const [column, b] of vectors.entries()) expect(Math.abs(cosine(a, b) - (published[row]?.[column] ?? 9))).toBeLessThan(0.01);
});

test('a query does not wait for all documents that came before it', async () => {
  const order: string[] = [];
  const documents = Array.from({ length: 4 }, (_, at) => vectorsOf([longText]).then(() => order.push(`document ${at}`)));
  await Promise.all([...documents, vectorsOf(['where is it'], 'query').then(() => order.push('query'))]);

  expect(order.indexOf('query')).toBeLessThanOrEqual(1);
});

test('who no longer wants an answer gets none, and the next one is served', async () => {
  const abort = new AbortController();
  const running = vectorsOf([longText, longText]);
  const waiting = embedder.embed({ model, kind: 'document', texts: ['never'], signal: abort.signal });
  abort.abort(new Error('cancelled'));

  await expect(waiting).rejects.toThrow(/cancelled|abort/i);
  expect(await running).toHaveLength(2);
});

test('a process that can not load its model fails the request alone', async () => {
  const broken = embedderOf({ EMBEDDING_MODEL_DIR: join(import.meta.dirname, 'broken-model') });
  const ask = () => broken.embed({ model, kind: 'query', texts: ['x'], signal: AbortSignal.timeout(30_000) });

  await expect(ask()).rejects.toThrow(EmbeddingError);
  await expect(ask()).rejects.toMatchObject({ fault: 'unavailable', isRetryable: true });
  await broken.close();
});

test.each(['SIGKILL', 'SIGSTOP', 'SIGABRT'] as const)(
  '%s of the model’s process fails what it worked on, and the next request has another one',
  async (signal) => {
    const folder = await testModelFiles();
    const files = { model: join(folder, 'model.onnx'), tokenizer: join(folder, 'tokenizer.json') };
    const modelProcess = createModelProcess({ files, threads: 1, maxMs: 15_000 });
    await modelProcess.ask({ texts: ['warm'], maxTokens: 256 });

    const asked = modelProcess.ask({ texts: Array.from({ length: 64 }, () => longText), maxTokens: 256 });
    setTimeout(() => process.kill(modelProcess.pid ?? 0, signal), 50);

    await expect(asked).rejects.toMatchObject({ fault: 'unavailable', isRetryable: true });
    expect(await modelProcess.ask({ texts: ['again'], maxTokens: 256 })).toHaveLength(1);
    modelProcess.close();
  },
  60_000,
);
