import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEmbedder, type Embedder } from '../../../ports/embeddings/index.ts';
import { loadModelRegistry, type ModelEnv } from '../../../ports/models/models.ts';

/** The embedding models that an environment gives. */
export function embedderOf(env: ModelEnv): Embedder {
  return createEmbedder(loadModelRegistry(env, { info: () => undefined }).embeddings);
}

/** A registry file with one provider and these entries beside the chat model that a registry needs; gives its path. */
export function registryFile(baseUrl: string, embeddings: readonly Record<string, unknown>[]): string {
  const facts = {
    context_window: 1_000,
    capabilities: { tools: true, parallel_tools: true, json: 'prompt', reasoning: false, image: false, pdf: false, audio: false },
    first_token_s: 30,
    idle_s: 30,
  };
  const file = join(mkdtempSync(join(tmpdir(), 'embeddings-')), 'models.json');
  const providers = [
    { id: 'acme', adapter: 'openai_compatible', base_url: baseUrl, key_env: 'ACME_API_KEY', default_model: 'chat', model_defaults: facts },
    { id: 'builtin', adapter: 'builtin', default_model: 'extractive', model_defaults: { ...facts, free: true } },
  ];
  const models = [
    { provider: 'acme', name: 'chat' },
    { provider: 'builtin', name: 'extractive' },
    ...embeddings.map((entry) => ({ kind: 'embedding', provider: 'acme', ...entry })),
  ];
  writeFileSync(file, JSON.stringify({ providers, models }));
  return file;
}
