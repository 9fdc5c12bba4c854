import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventsOf, requestOf, scripted, startStepBench, type StepBench } from './model-step.ts';

let bench: StepBench;

beforeAll(async () => {
  bench = await startStepBench();
});

afterAll(() => bench.close());

const oldest = {
  $schema: 'http://json-schema.org/draft-04/schema#',
  id: 'https://example.com/oldest',
  type: 'object',
  properties: {
    n: { type: 'integer', minimum: 4, exclusiveMinimum: true },
    pair: { type: 'array', items: [{ type: 'string' }, { type: 'integer' }], additionalItems: false },
  },
};
const shown = {
  type: 'object',
  properties: {
    n: { type: 'integer', exclusiveMinimum: 4 },
    pair: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer' }], items: false },
  },
};

/** Every object in a body that a schema could be. */
function objectsIn(value: unknown): object[] {
  if (value === null || typeof value !== 'object') return [];
  return [value, ...Object.values(value).flatMap(objectsIn)];
}

const adapters = ['openai', 'anthropic', 'openai_compatible'] as const;

test.each(adapters)('%s is sent the schema of a tool in words of 2020-12', async (adapter) => {
  const tool = { slug: 'look_up', description: 'Looks', inputSchema: oldest, effect: 'read' as const };

  await eventsOf(bench, requestOf(bench.model(adapter), { messages: scripted({ text: '{}' }), tools: [tool] }));

  const body = bench.server.calls().at(-1)?.body;
  expect(JSON.stringify(body)).not.toContain('draft-04');
  expect(objectsIn(body)).toContainEqual(shown);
});

test.each(adapters)('%s is sent the schema of the answer in words of 2020-12', async (adapter) => {
  const plain = bench.model(adapter);
  const model = bench.model(adapter, { id: `${plain.id}-native`, capabilities: { ...plain.capabilities, json: 'native' } });
  const json = { mode: 'native' as const, schema: oldest, name: 'answer', strict: false };

  await eventsOf(bench, requestOf(model, { messages: scripted({ text: '{}' }), tools: [], json }));

  const body = bench.server.calls().at(-1)?.body;
  expect(JSON.stringify(body)).not.toMatch(/draft-04|"exclusiveMinimum":true/);
  // The SDK puts bounds into words for this one.
  if (adapter !== 'anthropic') expect(objectsIn(body)).toContainEqual(shown);
  else expect(JSON.stringify(body)).toContain('exclusive minimum: 4');
});
