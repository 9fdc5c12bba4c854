import { expect, test } from '@jest/globals';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { forRequests } from '../../api/http/input/ajv-schema.ts';
import { parseIfMatch } from '../../api/http/reply/etag.ts';
import { formats } from '../../api/http/input/formats.ts';
import { openApiDocument } from '../../api/http/openapi/openapi.ts';
import { querySchemaOf } from '../../api/http/reply/page.ts';
import { isForOperators, liveOperations } from '../../api/http/operation/registry.ts';
import { areas } from '../../api/operations.ts';
import { errorCodeNames } from '../../workflows/contracts/error-codes.ts';

type Json = Record<string, unknown>;

const document = openApiDocument(areas, { publicUrl: 'https://longhaul.test', audience: 'all' });
const operations = Object.values(document.paths).flatMap((item) => Object.values(item));
const schemas = [...schemasIn(document, '')];

test('it is OpenAPI 3.1.0 of contract 0.1.0, made anew each time alike', () => {
  const again = openApiDocument(areas, { publicUrl: 'https://longhaul.test', audience: 'all' });

  expect(document).toMatchObject({ openapi: '3.1.0', info: { version: '0.1.0' }, servers: [{ url: 'https://longhaul.test' }] });
  expect(JSON.stringify(again)).toBe(JSON.stringify(document));
});

test('it holds the live operations and no other', () => {
  const ids = operations.map((operation) => operation['operationId']);

  expect(ids.toSorted()).toEqual(
    liveOperations(areas)
      .map((operation) => operation.operationId)
      .toSorted(),
  );
});

test('every operation says who may call it, what it leaves behind and what it answers', () => {
  for (const operation of operations) {
    expect(Object.keys(operation)).toEqual(
      expect.arrayContaining([
        'summary',
        'description',
        'tags',
        'x-access',
        'x-credentials',
        'x-scope',
        'x-audit-action',
        'x-idempotency',
        'x-if-match',
        'security',
        'responses',
      ]),
    );
    expect(String(operation['description']).length).toBeGreaterThanOrEqual(20);
    expect(operation['tags']).toHaveLength(1);
    expect(Object.keys(asObject(operation['responses']))).toEqual(expect.arrayContaining(['422', 'default']));
    expect(JSON.stringify(operation['responses'])).not.toMatch(/"(40\d|41\d|5\d\d)"/);
  }
});

test('security is empty exactly where no role is asked for', () => {
  const roles = ['viewer', 'member', 'admin', 'owner', 'operator'];

  for (const operation of operations)
    expect([operation['operationId'], asArray(operation['security']).length > 0]).toEqual([
      operation['operationId'],
      roles.includes(String(operation['x-access'])),
    ]);
});

test('every parameter has a description, every body and reply an example', () => {
  for (const operation of operations) {
    for (const parameter of asArray(operation['parameters']))
      expect(asObject(parameter)['$ref'] ?? asObject(parameter)['description']).toEqual(expect.any(String));
    for (const media of [...mediaOf(operation['requestBody']), ...successesOf(operation).flatMap(mediaOf)])
      expect(media).toHaveProperty('example');
  }
});

test('every example is valid against its schema', () => {
  const ajv = new Ajv2020({ strict: false, formats: { ...formats, int32: true, int64: true, binary: true } });
  ajv.addSchema({ $id: 'document', ...document });
  // Most operations share the schemas of their errors: each text is compiled once.
  const compiled = new Map<string, ValidateFunction>();
  const validatorOf = (schema: unknown) => {
    const text = JSON.stringify(schema).replaceAll('"#/', '"document#/');
    const validate = compiled.get(text) ?? ajv.compile(JSON.parse(text));
    compiled.set(text, validate);
    return validate;
  };
  const faults = operations.flatMap((operation) =>
    shownIn(operation).flatMap(({ schema, example }) => {
      const validate = validatorOf(schema);
      return validate(example) ? [] : [`${String(operation['operationId'])}: ${ajv.errorsText(validate.errors)}`];
    }),
  );

  expect(faults).toEqual([]);
});

test('each code that an operation answers has an example, whose summary says what to do about it', () => {
  for (const operation of operations) {
    const answers = ['422', 'default'].map((status) => resolved(asObject(operation['responses'])[status]));
    const shown = answers.flatMap((answer) => mediaOf(answer).flatMap((media) => Object.entries(asObject(media['examples']))));

    expect([operation['operationId'], shown.map(([code]) => code).toSorted()]).toEqual([
      operation['operationId'],
      asArray(operation['x-error-codes']).map(String).toSorted(),
    ]);
    for (const [code, reference] of shown) {
      const { summary, value } = asObject(resolved(reference));
      expect([code, String(summary).length > 8, asObject(value)['code']]).toEqual([code, true, code]);
    }
  }
});

test('no example holds what a scanner would take for a secret', () => {
  const text = JSON.stringify(document);
  const secrets = [
    /ey[A-Za-z0-9]{17,}\.ey[\w\\/-]{17,}/,
    /\blh_[a-z]{2}_(?!example|\w?Exampl)[\w-]{20,}/,
    /whsec_(?!ZXhhbXBsZQ|example)[\w+/=-]{16,}/,
    /-----BEGIN [A-Z ]*PRIVATE KEY/,
    /\b(?:AKIA|ghp_|xox[bp]-|sk-)[\w-]{16,}/,
  ];

  expect(secrets.map((pattern) => pattern.exec(text)?.[0] ?? null)).toEqual(secrets.map(() => null));
});

test('strings, arrays and integers are bounded; nullable is said by type or oneOf', () => {
  const faults = schemas.flatMap(([pointer, schema]) => boundFaults(schema).map((fault) => `${pointer} ${fault}`));

  expect(faults).toEqual([]);
});

test('a form of a format that others check differently is told by a pattern, which each accepted value fits', () => {
  // Those of JSON Schema and OpenAPI are kept as they say; https-url and decimal are nobody else's.
  const kept = [undefined, 'binary', 'date', 'date-time', 'decimal', 'https-url', 'int32', 'int64', 'uuid'];
  const others = schemas
    .filter(([pointer, { format }]) => !pointer.endsWith('/properties') && !kept.some((known) => known === format))
    .map(([pointer]) => pointer);
  const email = asObject(asObject(asObject(document.components.schemas['InvitationCreate'])['properties'])['email']);
  const accepted = [
    'ada@longhaul.test',
    'müller@straße.example',
    'ada@localhost',
    "o'neil+x@a.b",
    '用户@例子.广告',
    'a/b@c',
    `${'a'.repeat(80)}@b.c`,
  ];

  expect(others).toEqual([]);
  for (const address of accepted)
    expect([address, formats.email(address), new RegExp(String(email['pattern']), 'u').test(address)]).toEqual([address, true, true]);
  expect(new RegExp(String(email['pattern']), 'u').test('no address')).toBe(false);
});

test('If-Match has a pattern, and it is the one that is kept', () => {
  for (const name of ['IfMatch', 'IfMatchRequired']) {
    const { schema } = asObject(asObject(document.components['parameters'])[name]);
    const pattern = new RegExp(String(asObject(schema)['pattern']), 'u');

    for (const good of ['*', '"7"', 'W/"7-br"', '"1", "2"']) expect([good, pattern.test(good), isRead(good)]).toEqual([good, true, true]);
    for (const bad of ['', '7', '"7', '"1" "2"', ',']) expect([bad, pattern.test(bad), isRead(bad)]).toEqual([bad, false, false]);
  }
});

test('each operation declares the media types in which it fails', () => {
  const typesOf = (operationId: string, status: string) => {
    const operation = operations.find((candidate) => candidate['operationId'] === operationId) ?? {};
    const response = asObject(asObject(operation['responses'])[status]);
    const name = String(response['$ref'] ?? '').replace('#/components/responses/', '');
    return Object.keys(asObject((name === '' ? response : asObject(asObject(document.components['responses'])[name]))['content']));
  };

  for (const id of ['issueOauthToken', 'revokeOauthToken', 'introspectOauthToken', 'registerOauthClient', 'getOauthClientRegistration'])
    for (const status of ['422', 'default']) expect([id, typesOf(id, status)]).toEqual([id, ['application/json']]);
  expect(typesOf('callMcp', 'default')).toEqual(['application/problem+json', 'application/json']);
  expect(typesOf('startAuthorization', 'default')).toEqual(['application/problem+json', 'text/html']);
  expect(typesOf('getAttachment', '200')).toEqual(['application/octet-stream', '*/*', 'application/json']);
  expect([typesOf('callMcp', '200'), typesOf('callMcp', '202')]).toEqual([['application/json', 'text/event-stream'], []]);
  expect(typesOf('createRun', 'default')).toEqual(['application/problem+json']);
});

test('what stands in an allOf holds no inline object: code generators name those by their place, and would make two of one name', () => {
  const repeated = schemas.flatMap(([, schema]) => asArray(schema['allOf']).map((part) => asObject(part)['$ref'])).filter(Boolean);
  const inline = [...new Set(repeated)].flatMap((reference) => {
    const name = String(reference).replace('#/components/schemas/', '');
    const properties = Object.entries(asObject(document.components.schemas[name]?.['properties']));
    return properties.filter(([, child]) => asObject(child)['type'] === 'object').map(([key]) => `${name}.${key}`);
  });

  expect(repeated).not.toEqual([]);
  expect(inline).toEqual([]);
});

test('a repeat is promised where a key is taken, and 304 where it is given', () => {
  for (const operation of liveOperations(areas)) {
    const documented = operations.find((candidate) => candidate['operationId'] === operation.operationId) ?? {};
    const isIfNoneMatch = JSON.stringify(documented['parameters']).includes('/IfNoneMatch');
    const isRepeat = String(documented['description']).includes('Idempotency-Key');

    expect([operation.operationId, isRepeat && !operation.idempotent]).toEqual([operation.operationId, false]);
    expect([operation.operationId, isIfNoneMatch]).toEqual([
      operation.operationId,
      operation.method === 'GET' && operation.etag && operation.notModified !== false,
    ]);
  }
});

test('all 38 codes stand in the envelope', () => {
  expect(asObject(asObject(document.components.schemas['ErrorEnvelope'])['properties'])['code']).toMatchObject({ enum: errorCodeNames });
});

test('the public document leaves out what is for operators', () => {
  const open = openApiDocument(areas, { publicUrl: 'https://longhaul.test', audience: 'public' });
  const shown = Object.values(open.paths)
    .flatMap((item) => Object.values(item))
    .map((operation) => operation['operationId']);

  expect(shown.toSorted()).toEqual(
    liveOperations(areas)
      .filter((operation) => !isForOperators(operation))
      .map((operation) => operation.operationId)
      .toSorted(),
  );
  expect(JSON.stringify(open)).not.toContain('x-audience');
});

test('every schema of a request compiles under the strict validator; PATCH bodies hold no default', () => {
  const ajv = new Ajv2020({
    strict: true,
    allowUnionTypes: true,
    discriminator: true,
    useDefaults: true,
    // A file of a form: taken from the stream, not from the body's JSON.
    formats: { ...formats, binary: true },
    keywords: ['x-id-of', 'x-normal-form', 'x-free-object'],
  });

  for (const operation of liveOperations(areas)) {
    for (const schema of [operation.params, querySchemaOf(operation), operation.headers, operation.body])
      if (schema) expect(() => ajv.compile(forRequests(schema))).not.toThrow();
    if (operation.method === 'PATCH') expect(JSON.stringify(operation.body)).not.toContain('"default"');
  }
});

function isRead(header: string): boolean {
  try {
    return parseIfMatch(header) !== null;
  } catch {
    return false;
  }
}

function boundFaults(schema: Json): string[] {
  const types = asArray(schema['type'] ?? []).length > 0 ? asArray(schema['type']) : [schema['type']];
  const isFree = schema['enum'] !== undefined || schema['const'] !== undefined;
  return [
    schema['nullable'] !== undefined && 'says nullable',
    schema['anyOf'] !== undefined && 'uses anyOf',
    types.includes('string') && !isFree && schema['maxLength'] === undefined && 'is a string without maxLength',
    types.includes('array') && schema['maxItems'] === undefined && 'is an array without maxItems',
    types.includes('integer') &&
      !isFree &&
      (schema['minimum'] === undefined || schema['maximum'] === undefined) &&
      'is an integer without bounds',
    types.includes('object') &&
      schema['properties'] !== undefined &&
      schema['additionalProperties'] === undefined &&
      'is an object neither closed nor open',
  ].filter((fault) => fault !== false);
}

/** Every schema of the document with its place; examples, defaults and the like hold values, and rules between fields hold parts of schemas. */
function* schemasIn(node: unknown, pointer: string): Generator<[string, Json]> {
  if (Array.isArray(node)) for (const [index, item] of node.entries()) yield* schemasIn(item, `${pointer}/${index}`);
  if (typeof node !== 'object' || node === null || Array.isArray(node)) return;
  yield [pointer, { ...node }];
  for (const [key, child] of Object.entries(node))
    if (!['example', 'examples', 'default', 'enum', 'const', 'x-constraints'].includes(key) || pointer.endsWith('/properties'))
      yield* schemasIn(child, `${pointer}/${key}`);
}

function mediaOf(holder: unknown): Json[] {
  return Object.values(asObject(asObject(holder)['content'])).map(asObject);
}

/** What an operation shows: values of parameters, bodies, replies and failures, each with its schema. */
function shownIn(operation: Json): { schema: unknown; example: unknown }[] {
  const parameters = asArray(operation['parameters'])
    .map(resolved)
    .filter((parameter) => parameter['example'] !== undefined);
  const failures = ['422', 'default'].flatMap((status) => mediaOf(resolved(asObject(operation['responses'])[status])));
  return [
    ...[...parameters, ...mediaOf(operation['requestBody']), ...successesOf(operation).flatMap(mediaOf)].map(({ schema, example }) => ({
      schema,
      example,
    })),
    ...failures.flatMap(({ schema, examples }) =>
      Object.values(asObject(examples)).map((reference) => ({ schema, example: resolved(reference)['value'] })),
    ),
  ];
}

/** What a reference leads to, or the value itself. */
function resolved(value: unknown): Json {
  const { $ref: reference } = asObject(value);
  if (typeof reference !== 'string') return asObject(value);
  return reference
    .split('/')
    .slice(1)
    .reduce<Json>((at, key) => asObject(at[key]), { ...document });
}

function successesOf(operation: Json): unknown[] {
  return Object.entries(asObject(operation['responses']))
    .filter(([status]) => status.startsWith('2'))
    .map(([, response]) => response);
}

function asObject(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.fromEntries(Object.entries(value)) : {};
}

function asArray(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
