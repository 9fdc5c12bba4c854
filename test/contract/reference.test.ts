import { expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { openApiDocument } from '../../api/http/openapi/openapi.ts';
import { liveOperations } from '../../api/http/operation/registry.ts';
import { areas } from '../../api/operations.ts';
import { formats } from '../../api/http/input/formats.ts';
import { streamProtocolView } from '../../api/streams/protocol.ts';
import { errorCodeNames } from '../../workflows/contracts/error-codes.ts';
import { asArray, asObject, firstOperations, type Json } from './newcomer.ts';

const document = openApiDocument(areas, { publicUrl: 'https://longhaul.test', audience: 'all' });
const operations = Object.values(document.paths).flatMap((item) => Object.values(item));
const firsts = operations.filter((operation) => firstOperations.includes(String(operation['operationId'])));

test('no description of a field or parameter only says its name again', () => {
  const repeated = [...fieldsOf(document)].filter(({ name, schema }) => isRepetition(name, schema['description']));

  expect(repeated.map(({ name, schema }) => `${name}: ${String(schema['description'])}`)).toEqual([]);
  expect(isRepetition('agent_id', 'Id of the agent')).toBe(true);
  expect(isRepetition('created_at', 'Instant: created')).toBe(true);
  expect(isRepetition('agent_id', 'The agent that asks')).toBe(false);
});

test('all fields and parameters of the operations that one meets first are described, and so are their components', () => {
  expect(firsts).toHaveLength(firstOperations.length);
  const reached = reachedFrom(firsts);
  const bare = [...reached].flatMap(([name, schema]) => [
    ...(schema['description'] === undefined && !name.startsWith('operation ') ? [name] : []),
    ...[...fieldsOf(schema)].filter((field) => !isDescribed(field.schema)).map((field) => `${name}: ${field.name}`),
  ]);

  expect(bare).toEqual([]);
});

test('what comes in several forms names each of them, and by which value they are told apart', () => {
  const faults = [...reachedFrom(firsts)].flatMap(([name, schema]) =>
    [...choicesOf(schema)].flatMap((choice) => choiceFaults(choice).map((fault) => `${name}: ${fault}`)),
  );
  const kinds = asObject(asObject(document.components.schemas['ToolCreate'])['discriminator']);

  expect(faults).toEqual([]);
  expect(kinds).toMatchObject({
    propertyName: 'kind',
    mapping: { http: '#/components/schemas/ToolCreateHttp', web_fetch: '#/components/schemas/ToolCreateWebFetch' },
  });
  expect(JSON.stringify(document)).not.toContain('"if":');
});

test('a variant takes what the operation takes, and refuses what it refuses', () => {
  const validate = compile('ToolCreate');
  const tool = { slug: 'find_order', kind: 'http', description: 'Finds an order.' };
  const config = { method: 'GET', url: 'https://api.example.com/' };

  expect(validate({ ...tool, config })).toBe(true);
  expect(validate({ ...tool, client_owned: true })).toBe(true);
  expect(validate({ ...tool, client_owned: true, config: {} })).toBe(true);
  expect(validate({ ...tool, client_owned: true, config })).toBe(true);
  expect(validate({ ...tool, kind: 'web_fetch' })).toBe(true);
  expect(validate({ ...tool, kind: 'web_fetch', client_owned: true, config: {} })).toBe(true);
  expect(validate({ ...tool, config: {} })).toBe(false);
  expect(validate({ ...tool, client_owned: false, config: {} })).toBe(false);
  expect(validate(tool)).toBe(false);
  expect(validate({ ...tool, config: { language: 'python' } })).toBe(false);
  expect(validate({ ...tool, kind: 'code_exec', config })).toBe(false);
});

test('examples of the operations that one meets first hold no filler: no text that only says the name of its field', () => {
  const fillers = firsts.flatMap((operation) =>
    examplesOf(operation).flatMap((example) => fillersIn(example).map((filler) => `${String(operation['operationId'])}: ${filler}`)),
  );

  expect(fillers).toEqual([]);
});

test('the bodies that examples and samples of any operation send hold no filler', () => {
  const fillers = operations.flatMap((operation) =>
    mediaOf(operation['requestBody']).flatMap((example) =>
      fillersIn(example).map((filler) => `${String(operation['operationId'])}: ${filler}`),
    ),
  );

  expect(fillers).toEqual([]);
});

test('the example of a stream is a real sequence of frames, from the first to run.finished', () => {
  const [example] = examplesOf(firsts.find((operation) => operation['operationId'] === 'streamRun') ?? {});
  const events = String(example)
    .split('\n\n')
    .filter((event) => event.startsWith('id: '));
  const frames = events.map((event) => asObject(JSON.parse(/^data: (.*)$/m.exec(event)?.[1] ?? 'null')));
  const ajv = new Ajv2020({ strict: false, formats });
  const { frames: kinds } = streamProtocolView();

  expect(frames.map((frame) => frame['seq'])).toEqual(frames.map((_, index) => index + 1));
  expect(frames.at(-1)).toMatchObject({ type: 'run.finished' });
  for (const [index, frame] of frames.entries()) {
    expect(events[index]).toMatch(new RegExp(`^id: ${index + 1}\nevent: ${String(frame['type']).replace('.', '\\.')}\ndata: `));
    const schema = kinds.find((kind) => kind.type === frame['type'])?.schema ?? {};
    expect([frame['type'], ajv.validate(schema, frame['data']), ajv.errorsText()]).toEqual([frame['type'], true, 'No errors']);
  }
});

test('each operation says who may call it and how it refuses, as its declaration has it', () => {
  for (const operation of liveOperations(areas)) {
    const documented = operations.find((candidate) => candidate['operationId'] === operation.operationId) ?? {};
    const codes = asArray(documented['x-error-codes']);
    const told = String(documented['description']);

    expect([operation.operationId, codes.filter((code) => !errorCodeNames.some((known) => known === code))]).toEqual([
      operation.operationId,
      [],
    ]);
    expect([operation.operationId, codes.includes('idempotency_key_mismatch')]).toEqual([operation.operationId, operation.idempotent]);
    expect([
      operation.operationId,
      codes.includes('role_insufficient') || told.includes('anyone') || told.includes('the holder of') || told.includes('an OAuth client'),
    ]).toEqual([operation.operationId, true]);
    if (documented['x-scope'] !== null) expect(told).toContain(`\`${String(documented['x-scope'])}\``);
    for (const code of operation.fails ?? []) expect(told).toContain(`\`${code}\``);
  }
});

test('tags say what their area is for', () => {
  for (const tag of asArray(document['tags']).map(asObject)) {
    expect(String(tag['description']).length).toBeGreaterThan(30);
    expect(tag['description']).not.toContain('Operations of the area');
  }
});

interface Field {
  readonly name: string;
  readonly schema: Json;
}

/** Properties of schemas and parameters of operations, wherever they stand below a node. */
function* fieldsOf(node: unknown): Generator<Field> {
  if (Array.isArray(node)) for (const item of node) yield* fieldsOf(item);
  if (typeof node !== 'object' || node === null || Array.isArray(node)) return;
  const schema = asObject(node);
  if (typeof schema['in'] === 'string' && typeof schema['name'] === 'string') yield { name: schema['name'], schema };
  if (!Array.isArray(schema['properties']))
    for (const [name, child] of Object.entries(asObject(schema['properties']))) yield { name, schema: asObject(child) };
  for (const [key, child] of Object.entries(schema)) if (!valueKeys.has(key)) yield* fieldsOf(child);
}

/** What holds values or code, and no schemas; `not` says only what may not be. */
const valueKeys = new Set(['example', 'examples', 'default', 'enum', 'const', 'not', 'x-codeSamples', 'x-constraints', 'mapping']);
const idle = new Set(
  'the a an of id ids it its is are in to for whether number instant seconds milliseconds bytes which when what row by and or'.split(' '),
);

function isRepetition(name: string, description: unknown): boolean {
  if (typeof description !== 'string') return false;
  const stem = (word: string) => word.toLowerCase().replace(/(?:ies|es|s|ed|d)$/, '');
  const known = new Set(name.split(/[_-]/).map(stem));
  const words = description.split(/[^A-Za-z0-9]+/).filter((word) => word !== '' && !idle.has(word.toLowerCase()));
  return words.every((word) => known.has(stem(word)));
}

function isDescribed(schema: Json): boolean {
  const branches = asArray(schema['oneOf']).map(asObject);
  return schema['description'] !== undefined || schema['$ref'] !== undefined || branches.some((branch) => branch['$ref'] !== undefined);
}

/** The operations, and every component that they lead to. */
function reachedFrom(starts: readonly Json[]): Map<string, Json> {
  const reached = new Map<string, Json>(
    starts.map((operation) => [`operation ${String(operation['operationId'])}`, { ...operation, 'x-codeSamples': [] }]),
  );
  for (const [, schema] of reached)
    for (const [, name = ''] of JSON.stringify(schema).matchAll(/"#\/components\/schemas\/(\w+)"/g))
      if (!reached.has(name)) reached.set(name, asObject(document.components.schemas[name]));
  return reached;
}

/** Every `oneOf` but those of something and null. */
function* choicesOf(node: unknown): Generator<Json> {
  if (Array.isArray(node)) for (const item of node) yield* choicesOf(item);
  if (typeof node !== 'object' || node === null || Array.isArray(node)) return;
  const branches = asArray(asObject(node)['oneOf']).map(asObject);
  if (branches.length > 0 && !branches.some((branch) => branch['type'] === 'null')) yield asObject(node);
  for (const [key, child] of Object.entries(node)) if (!valueKeys.has(key)) yield* choicesOf(child);
}

function choiceFaults(choice: Json): string[] {
  const branches = asArray(choice['oneOf']).map(asObject);
  const { mapping } = asObject(choice['discriminator']);
  const areObjects = branches.every((branch) => branch['$ref'] !== undefined);
  const unnamed = branches.filter((branch) => branch['$ref'] === undefined && branch['title'] === undefined);
  const mapped = new Set(Object.values(asObject(mapping)));
  return [
    ...unnamed.map((branch) => `has a form without a name: ${JSON.stringify(branch).slice(0, 80)}`),
    ...(areObjects
      ? branches.filter((branch) => !mapped.has(branch['$ref'])).map((branch) => `maps no value to ${String(branch['$ref'])}`)
      : []),
  ];
}

function compile(component: string): (value: unknown) => boolean {
  const ajv = new Ajv2020({ strict: false, formats: { ...formats, int32: true, int64: true, binary: true } });
  ajv.addSchema({ $id: 'document', ...document });
  return (value) => ajv.validate({ $ref: `document#/components/schemas/${component}` }, value);
}

function examplesOf(operation: Json): unknown[] {
  const successes = Object.entries(asObject(operation['responses'])).filter(([status]) => status.startsWith('2'));
  return [operation['requestBody'], ...successes.map(([, response]) => response)].flatMap(mediaOf);
}

/** The examples of a body or reply, one a media type. */
function mediaOf(holder: unknown): unknown[] {
  return Object.values(asObject(asObject(holder)['content'])).map((media) => asObject(media)['example']);
}

function fillersIn(value: unknown, name = ''): string[] {
  if (typeof value === 'string') return name !== '' && (value === name || value === name.replaceAll('_', ' ')) ? [`${name}: ${value}`] : [];
  if (Array.isArray(value)) return value.flatMap((item: unknown) => fillersIn(item, name.replace(/s$/, '')));
  return Object.entries(asObject(value)).flatMap(([key, child]) => fillersIn(child, key));
}
