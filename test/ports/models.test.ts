import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { loadModelRegistry, missingCapabilities, type ModelEnv } from '../../ports/models/models.ts';

const load = (env: ModelEnv) => loadModelRegistry(env, { info: () => undefined });

test('without a key the built-in model is all there is, and the default', () => {
  const registry = load({});

  expect(registry.list().map((model) => model.id)).toEqual(['builtin/extractive']);
  expect(registry.resolve(null)).toMatchObject({ id: 'builtin/extractive', isFree: true });
  expect(registry.resolve('openai/gpt-5.4-mini')).toBeNull();
});

test('the default is the named model, else that of a provider with a key, else the built-in one', () => {
  const base = { LONGHAUL_MODEL_BASE_URL: 'http://127.0.0.1:4000/v1', LONGHAUL_MODEL: 'org/some-model' };

  expect(load({ ANTHROPIC_API_KEY: 'k' }).defaultModelId).toBe('anthropic/claude-sonnet-5-5');
  expect(load({ OPENAI_API_KEY: 'k', ANTHROPIC_API_KEY: 'k' }).defaultModelId).toBe('openai/gpt-5.4-mini');
  expect(load({ OPENAI_API_KEY: 'k', LONGHAUL_MODEL: 'gpt-5.5' }).defaultModelId).toBe('openai/gpt-5.5');
  expect(load({ OPENAI_API_KEY: 'k', LONGHAUL_MODEL: 'gpt-9-new' }).defaultModelId).toBe('openai/gpt-9-new');
  expect(load({ OPENAI_API_KEY: 'k', ...base }).defaultModelId).toBe('compatible/org/some-model');
  expect(load(base).resolve('org/some-model')?.connection.baseUrl).toBe('http://127.0.0.1:4000/v1');
});

test('bad variables and entries are named', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'registry-')), 'models.json');
  writeFileSync(file, JSON.stringify({ providers: [{ id: 'builtin', adapter: 'nope' }], models: [] }));

  expect(() => load({ LONGHAUL_MODEL: 'unknown' })).toThrow(/LONGHAUL_MODEL: unknown/);
  expect(() => load({ LONGHAUL_MODEL_BASE_URL: 'http://x/v1' })).toThrow(/LONGHAUL_MODEL: required/);
  expect(() => load({ LONGHAUL_MODEL_BASE_URL: 'ftp://x', LONGHAUL_MODEL: 'm' })).toThrow(/LONGHAUL_MODEL_BASE_URL/);
  expect(() => load({ LONGHAUL_MODEL_REGISTRY: '/nowhere.json' })).toThrow(/LONGHAUL_MODEL_REGISTRY.*ENOENT/);
  expect(() => load({ LONGHAUL_MODEL_REGISTRY: file })).toThrow(/LONGHAUL_MODEL_REGISTRY: .*\/providers\/0/);
});

test('the hash tells configurations apart, and holds no key', () => {
  const one = load({ OPENAI_API_KEY: 'one' });

  expect(load({ OPENAI_API_KEY: 'two' }).hash).toBe(one.hash);
  expect(load({}).hash).not.toBe(one.hash);
  expect(load({ OPENAI_API_KEY: 'one', LONGHAUL_MODEL: 'gpt-5.5' }).hash).not.toBe(one.hash);
});

test('no key shows when a model is written down', () => {
  const model = load({ OPENAI_API_KEY: 'canary-key' }).resolve(null);

  expect(JSON.stringify(model)).not.toContain('canary-key');
  expect(model?.connection.apiKey()).toBe('canary-key');
});

test('missing capabilities are named', () => {
  const model = load({}).resolve(null);
  if (!model) throw new Error('there is always a default');

  expect(missingCapabilities(model, { hasTools: true, reasoning: 'high' })).toEqual(['reasoning']);
  expect(
    missingCapabilities({ ...model, capabilities: { ...model.capabilities, tools: false } }, { hasTools: true, reasoning: 'none' }),
  ).toEqual(['tools']);
});
