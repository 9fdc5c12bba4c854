import { isDeepStrictEqual } from 'node:util';
import Type, { type TSchema } from 'typebox';
import { errorCodes, type ErrorCode } from '../../../workflows/contracts/error-codes.ts';
import { acceptedBy } from '../input/body.ts';
import { ErrorEnvelope, HTTPValidationError, OauthErrorEnvelope } from '../reply/error.schema.ts';
import { answersOauthClients } from '../credentials/oauth-failure.ts';
import { meaningOf } from './descriptions.ts';
import { bodyExample, parameterExample, replyExample } from './examples.ts';
import { failureName } from './failure-examples.ts';
import { codeSamplesOf } from './samples.ts';
import { errorCodesOf, operationText } from './text.ts';
import { headerReferences } from './components.ts';
import { nameOf, type Json, type SchemaCollector } from './schemas.ts';
import type { RegisteredOperation } from '../operation/operation.ts';
import { querySchemaOf } from '../reply/page.ts';
import { isRedirect, successOf } from '../reply/render.ts';
import { bytes, closed, listOf, nullable, plainText } from '../input/schema.ts';
import { credentialsOf, isRoleAccess, oauthScopeOf } from '../credentials/scopes.ts';

/** Where a document is served, and whether the operation is for operators only. */
interface Documented {
  readonly publicUrl: string;
  readonly isForOperators: boolean;
}

/** One operation of the document. */
export function documentOperation(operation: RegisteredOperation, collector: SchemaCollector, documented: Documented): Json {
  const scope = oauthScopeOf(operation);
  return {
    'operationId': operation.operationId,
    'summary': operation.summary,
    'description': operationText(operation),
    'tags': [operation.area],
    ...(documented.isForOperators ? { 'x-audience': 'operator' } : {}),
    'x-access': operation.access,
    'x-credentials': credentialsOf(operation),
    'x-scope': scope,
    'x-audit-action': operation.audit,
    'x-idempotency': operation.idempotent,
    'x-if-match': operation.ifMatch,
    'x-error-codes': errorCodesOf(operation),
    'x-codeSamples': codeSamplesOf(operation, documented.publicUrl),
    'security': securityOf(operation),
    'parameters': [
      ...pathParameters(operation, collector),
      ...queryParameters(operation, collector),
      ...headerParameters(operation, collector),
    ],
    ...requestBodyOf(operation, collector),
    'responses': responsesOf(operation, collector),
  };
}

/** View of a list's page: `Page_<View>_`. */
export function pageOf(view: TSchema): TSchema {
  const name = nameOf(view) ?? 'View';
  return closed(
    {
      items: listOf(view, { description: 'In the order of the list' }),
      next_cursor: Type.Optional(
        nullable(Type.String({ maxLength: 1_024, description: 'Cursor of the next page; null on the last', examples: ['eyJ2IjoxfQ'] })),
      ),
      total: Type.Optional(
        nullable(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'Exact number of rows; only with offset' })),
      ),
    },
    { $id: `Page_${name}_`, description: `A page of ${name}` },
  );
}

/** What an operation answers: its view, or a page of it. */
export function replySchemaOf(operation: RegisteredOperation): TSchema | null {
  if (operation.view === null) return null;
  return operation.kind === 'list' ? pageOf(operation.view) : operation.view;
}

function securityOf(operation: RegisteredOperation): Json[] {
  if (!isRoleAccess(operation)) return [];
  return credentialsOf(operation).includes('service_key') ? [{ bearer: [] }, { apiKey: [] }] : [{ bearer: [] }];
}

function pathParameters(operation: RegisteredOperation, collector: SchemaCollector): Json[] {
  return Object.entries(operation.params?.properties ?? {}).map(([name, schema]) =>
    parameter(operation, { location: 'path', name, schema, required: true }, collector),
  );
}

function queryParameters(operation: RegisteredOperation, collector: SchemaCollector): Json[] {
  const { properties, required } = querySchemaOf(operation);
  const needed: readonly string[] = required ?? [];
  return Object.entries(properties).map(([name, schema]) =>
    parameter(operation, { location: 'query', name, schema, required: needed.includes(name) }, collector),
  );
}

function headerParameters(operation: RegisteredOperation, collector: SchemaCollector): Json[] {
  const shared = [
    ...(operation.idempotent ? ['IdempotencyKey'] : []),
    ...(operation.ifMatch ? [operation.ifMatch === 'required' ? 'IfMatchRequired' : 'IfMatch'] : []),
    ...(operation.etag && operation.method === 'GET' && operation.notModified !== false ? ['IfNoneMatch'] : []),
    ...(isRoleAccess(operation) && !operation.notDelegable ? ['ActingUser'] : []),
    ...(isRoleAccess(operation) ? ['ViewOrganization', 'ViewWorkspace'] : []),
  ].map((name) => ({ $ref: `#/components/parameters/${name}` }));
  const own = Object.entries(operation.headers?.properties ?? {}).map(([name, schema]) =>
    parameter(operation, { location: 'header', name, schema, required: false }, collector),
  );
  return [...shared, ...own];
}

interface Parameter {
  readonly location: 'path' | 'query' | 'header';
  readonly name: string;
  readonly schema: TSchema;
  readonly required: boolean;
}

function parameter(operation: RegisteredOperation, { location, name, schema, required }: Parameter, collector: SchemaCollector): Json {
  const { operationId } = operation;
  const { description, ...bare } = collector.refer(schema, operationId);
  const meaning = typeof description === 'string' ? description : meaningOf(operationId, name, location === 'header' ? 'field' : location);
  const example = parameterExample(operation, location, name);
  return {
    name,
    in: location,
    required,
    ...(meaning === undefined ? {} : { description: meaning }),
    schema: bare,
    ...(example === undefined ? {} : { example: ofType(bare, example) }),
  };
}

function requestBodyOf(operation: RegisteredOperation, collector: SchemaCollector): Json {
  const { body } = operation;
  if (!body) return {};
  const type = acceptedBy(operation);
  const content = { [type]: { schema: collector.refer(body, operation.operationId), example: bodyExample(operation, body) } };
  return { requestBody: { description: 'The requested data', required: operation.method === 'PUT' || isNeeded(body), content } };
}

/** Whether no body at all would break the schema: it, a rule that it states, or each of its forms demands something. */
function isNeeded(schema: object): boolean {
  const rules: unknown[] = [Reflect.get(schema, 'x-stated'), Reflect.get(schema, 'allOf')].flat();
  if (rules.some((rule) => typeof rule === 'object' && rule !== null && isNeeded(rule))) return true;
  const forms: unknown = Reflect.get(schema, 'anyOf') ?? Reflect.get(schema, 'oneOf');
  if (Array.isArray(forms)) return forms.every((form: unknown) => typeof form === 'object' && form !== null && isNeeded(form));
  const required: unknown = Reflect.get(schema, 'required');
  return (
    (Array.isArray(required) && required.length > 0) ||
    Number(Reflect.get(schema, 'minItems') ?? Reflect.get(schema, 'minProperties') ?? 0) > 0
  );
}

function responsesOf(operation: RegisteredOperation, collector: SchemaCollector): Json {
  const statuses = operation.success ?? [successOf(operation)];
  const successes = statuses.map((status) => [String(status), successResponse(operation, status, collector)]);
  return {
    ...Object.fromEntries(successes),
    ...failuresOf(operation, collector),
  };
}

/** The codes of 422 apart from all others, each with an example that says what a client does about it. Some tell their failures to others than clients of this contract. */
function failuresOf(operation: RegisteredOperation, collector: SchemaCollector): Json {
  const ofOauth = answersOauthClients(operation);
  const more: Json = {
    ...(operation.failurePage ? { 'text/html': { schema: plainText('A page for browsers that says what is wrong') } } : {}),
    ...mediaOf(operation.alsoFailsAs, collector, false),
  };
  const codes = errorCodesOf(operation);
  const refusals = codes.filter((code) => errorCodes[code].status === 422);
  const others = codes.filter((code) => errorCodes[code].status !== 422);
  const shared = Object.entries(sharedRefusals).find(([, known]) => isDeepStrictEqual(known, refusals))?.[0];
  const type = ofOauth ? 'application/json' : 'application/problem+json';
  const contentOf = (schema: TSchema, own: readonly ErrorCode[]) => ({
    [type]: { schema: collector.refer(ofOauth ? OauthErrorEnvelope : schema), ...examplesOf(own, ofOauth) },
    ...more,
  });

  return {
    422:
      shared !== undefined && !ofOauth && Object.keys(more).length === 0
        ? { $ref: `#/components/responses/${shared}` }
        : failureResponse(contentOf(HTTPValidationError, refusals)),
    default: failureResponse(contentOf(ErrorEnvelope, others)),
  };
}

/** Codes of 422 that many operations answer together. */
const sharedRefusals: Readonly<Record<string, readonly ErrorCode[]>> = {
  ValidationFailed: ['validation_failed'],
  CursorRefused: ['validation_failed', 'cursor_invalid'],
  KeyRefused: ['validation_failed', 'idempotency_key_mismatch'],
};

/** The responses that operations refer to. */
export function sharedFailures(collector: SchemaCollector): Record<string, Json> {
  const description = 'The request violates a rule of its schema, or repeats something that does not fit it';
  return Object.fromEntries(
    Object.entries(sharedRefusals).map(([name, codes]) => {
      const content = { 'application/problem+json': { schema: collector.refer(HTTPValidationError), ...examplesOf(codes, false) } };
      return [name, failureResponse(content, description)];
    }),
  );
}

function examplesOf(codes: readonly ErrorCode[], ofOauth: boolean): Json {
  if (codes.length === 0) return {};
  return { examples: Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${failureName(code, ofOauth)}` }])) };
}

function failureResponse(content: Json, description = 'Every failure returns the error envelope'): Json {
  return { description, headers: headerReferences(['Retry-After']), content };
}

function mediaOf(
  types: Readonly<Record<string, TSchema>> | undefined,
  collector: SchemaCollector,
  example: ((type: string, schema: TSchema) => unknown) | false,
): Json {
  return Object.fromEntries(
    Object.entries(types ?? {}).map(([type, schema]) => [
      type,
      { schema: collector.refer(schema), ...(example ? { example: example(type, schema) } : {}) },
    ]),
  );
}

function successResponse(operation: RegisteredOperation, status: number, collector: SchemaCollector): Json {
  const headers = headerReferences([
    ...(operation.etag ? ['ETag'] : []),
    ...(operation.location || isRedirect(status) ? ['Location'] : []),
    ...(operation.idempotent ? ['Idempotency-Replayed'] : []),
  ]);
  const schema = operation.viewsBeside?.[status] ?? replySchemaOf(operation);
  if (isRedirect(status)) return { description: 'A browser is redirected', headers };
  if (status === 204 || (status === 202 && operation.kind === 'raw') || (schema === null && operation.kind === 'json'))
    return { description: 'Done; there is no body', headers };

  const shape = schema ? collector.refer(schema) : collector.refer(bareShape(operation.produces));
  const exampleIn = (type: string, shown: TSchema | null) => replyExample(operation, { status, type, schema: shown });
  const example = exampleIn(operation.produces, schema);
  const more = mediaOf(operation.alsoProduces, collector, exampleIn);
  return { description: operation.summary, headers, content: { [operation.produces]: { schema: shape, example }, ...more } };
}

/** Streams and documents have no view: only their media type is documented. */
function bareShape(produces: string): TSchema {
  if (produces === 'application/json') return Type.Unsafe({ type: 'object', additionalProperties: true, description: 'A document' });
  return produces === 'application/octet-stream' ? bytes(produces) : plainText(produces);
}

/** Parts of an address are texts: as a number or a truth value where the parameter is one. */
function ofType({ type }: Json, value: unknown): unknown {
  const isText = typeof value === 'string' && (type === 'integer' || type === 'number' || type === 'boolean');
  return isText ? JSON.parse(value) : value;
}
