import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { exposedHeaders } from '../../api/http/reply/headers.ts';
import { formats } from '../../api/http/input/formats.ts';
import { errorCodesOf } from '../../api/http/openapi/text.ts';
import type { OpenApiDocument } from '../../api/http/openapi/openapi.ts';
import type { RegisteredOperation } from '../../api/http/operation/operation.ts';
import type { AppDeps } from '../../api/http/operation/deps.ts';

type Json = Record<string, unknown>;

/** Holds every reply of an app against the document that the app serves, and keeps what differs. */
export interface ReplyCheck {
  /** Adds the hook; give it to `buildApp` as `extend`. */
  watch(app: FastifyInstance, deps: AppDeps): void;
  readonly faults: readonly string[];
  /** Codes that failing replies carried. */
  readonly codes: ReadonlySet<string>;
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const duration = /^\d+(\.\d{1,3})?$/;
const instant = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

export function createReplyCheck(): ReplyCheck {
  const faults: string[] = [];
  const codes = new Set<string>();

  return {
    faults,
    codes,
    watch(app, deps) {
      const document = deps.documents.source;
      const validate = validatorOf(document);
      app.addHook('onSend', (request, reply, payload, done) => {
        for (const fault of judge({ request, reply, text: textOf(payload), document, validate, codes }))
          faults.push(`${nameOf(request)} ${reply.statusCode}: ${fault}`);
        done(null, payload);
      });
    },
  };
}

interface Judged {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** Null for streams and empty replies. */
  readonly text: string | null;
  readonly document: OpenApiDocument;
  readonly validate: (pointer: string, value: unknown) => string | null;
  readonly codes: Set<string>;
}

function judge(judged: Judged): string[] {
  const { request, reply, text } = judged;
  const operation = request.state?.operation ?? null;
  const faults = [...headerFaults(reply), ...(operation ? mediaFaults(judged, operation) : [])];
  if (reply.statusCode >= 400) return [...faults, ...failureFaults(judged)];
  if (reply.statusCode === 304 || reply.statusCode === 204) return text ? [...faults, 'has a body'] : faults;
  if (!operation || request.method === 'HEAD' || operation.kind === 'raw') return faults;
  if (reply.statusCode === 303) return reply.getHeader('location') === undefined ? [...faults, 'sends nowhere'] : faults;
  if (operation.view === null) return text ? [...faults, 'has a body'] : faults;
  if (operation.alsoProduces !== undefined && !String(reply.getHeader('content-type')).startsWith('application/json')) return faults;
  return [...faults, ...successFaults(judged, operation)];
}

function headerFaults(reply: FastifyReply): string[] {
  const header = (name: string) => String(reply.getHeader(name) ?? '');
  return [
    !uuid.test(header('x-correlation-id')) && `X-Correlation-Id is ${header('x-correlation-id')}`,
    !duration.test(header('x-request-duration-ms')) && `X-Request-Duration-Ms is ${header('x-request-duration-ms')}`,
    header('x-content-type-options') !== 'nosniff' && 'no nosniff',
    header('cache-control') === '' && 'no Cache-Control',
    ...Object.keys(reply.getHeaders()).map((name) => !isReadable(name) && `${name} can't be read by scripts`),
  ].filter((fault) => fault !== false);
}

/** Fetch §2.2.3 (CORS-safelisted response headers), and what browsers, caches and connections keep for themselves: scripts never see Set-Cookie (Fetch, forbidden response-header names). */
const readable: ReadonlySet<string> = new Set([
  ...['cache-control', 'content-language', 'content-length', 'content-type', 'expires', 'last-modified', 'pragma'],
  ...['connection', 'content-encoding', 'content-security-policy', 'referrer-policy', 'vary', 'x-content-type-options', 'x-frame-options'],
  'set-cookie',
  ...exposedHeaders.map((name) => name.toLowerCase()),
]);

function isReadable(name: string): boolean {
  return readable.has(name) || name.startsWith('access-control-');
}

/** Whether the document declares the status and the media type of a reply, and its JSON fits the schema. */
function mediaFaults(judged: Judged, operation: RegisteredOperation): string[] {
  const { reply, text, document, validate } = judged;
  const declared = declaredFor(document, operation, reply.statusCode);
  if (declared === null) return ['has a status that is not declared'];
  const type = String(reply.getHeader('content-type') ?? '').split(';')[0] ?? '';
  if (type === '') return [];

  const content = resolve(document, `${declared}/content`);
  const key = isObject(content) ? [type, `${type.split('/')[0]}/*`, '*/*'].find((range) => Object.hasOwn(content, range)) : undefined;
  if (key === undefined) return [`is ${type}, which is not declared`];
  if (type !== 'application/json' || text === null || reply.hasHeader('content-encoding') || judged.request.method === 'HEAD') return [];
  const fault = validate(`${declared}/content/${key.replaceAll('/', '~1')}/schema`, parse(text));
  return fault === null ? [] : [fault];
}

/** Pointer to the response of a status; null where there is none. 304 and whatever fails need none of their own. */
function declaredFor(document: OpenApiDocument, { path, method }: RegisteredOperation, status: number): string | null {
  const responses = `/paths/${path.replaceAll('/', '~1')}/${method.toLowerCase()}/responses`;
  const own = resolve(document, `${responses}/${status}`);
  if (!isObject(own) && status < 400 && status !== 304) return null;
  const pointer = isObject(own) ? `${responses}/${status}` : `${responses}/default`;
  const reference: unknown = isObject(own) ? own['$ref'] : Reflect.get(Object(resolve(document, pointer)), '$ref');
  return typeof reference === 'string' ? reference.slice(1) : pointer;
}

function failureFaults({ request, reply, text, validate, codes }: Judged): string[] {
  const isPage = request.state?.operation?.failurePage !== undefined && String(reply.getHeader('content-type')).startsWith('text/html');
  if (isPage) return reply.getHeader('content-security-policy') === undefined ? ['is a page without a policy'] : [];
  const body: unknown = parse(text);
  if (!isObject(body)) return ['is no envelope'];
  if (isProtocolFault(request, body)) return [];
  codes.add(String(body['code']));
  const isReplay = reply.getHeader('idempotency-replayed') !== undefined;
  const retryAfter = reply.getHeader('retry-after');

  return [
    validate('/components/schemas/ErrorEnvelope', body),
    isUndeclared(request, body['code']) && `has the code ${String(body['code'])}, which its operation does not name`,
    !String(reply.getHeader('content-type')).startsWith(failureTypeOf(request)) && `is ${String(reply.getHeader('content-type'))}`,
    body['status'] !== reply.statusCode && `says status ${String(body['status'])}`,
    !isReplay && body['correlation_id'] !== request.id && 'names another correlation id',
    !isReplay &&
      (body['retry_after_s'] === null ? retryAfter !== undefined : String(body['retry_after_s']) !== String(retryAfter)) &&
      'Retry-After differs',
    reply.statusCode === 401 && reply.getHeader('www-authenticate') === undefined && 'has no WWW-Authenticate',
  ].filter((fault) => typeof fault === 'string');
}

/** An operation that names its own codes names all of them. */
function isUndeclared(request: FastifyRequest, code: unknown): boolean {
  const operation = request.state?.operation;
  return operation !== undefined && operation !== null && !errorCodesOf(operation).some((known) => known === code);
}

/** What breaks the Model Context Protocol is told in its own words. */
function isProtocolFault(request: FastifyRequest, body: Json): boolean {
  return request.state?.operation?.operationId === 'callMcp' && body['jsonrpc'] === '2.0';
}

/** OAuth clients read plain JSON. */
function failureTypeOf(request: FastifyRequest): string {
  const path = request.state?.operation?.path ?? '';
  return /^\/oauth\/(token|revoke|introspect|register)/.test(path) ? 'application/json' : 'application/problem+json';
}

function successFaults({ reply, text }: Judged, operation: RegisteredOperation): string[] {
  return [
    text === null && 'has no body',
    reply.getHeader('content-type') !== 'application/json; charset=utf-8' && `is ${String(reply.getHeader('content-type'))}`,
    operation.etag && reply.getHeader('etag') === undefined && 'has no ETag',
  ].filter((fault) => typeof fault === 'string');
}

const validators = new WeakMap<OpenApiDocument, ReturnType<typeof createValidator>>();

/** One for each document: APIs of several test files serve the same, and compiling it anew takes longer than most of their tests. */
function validatorOf(document: OpenApiDocument): ReturnType<typeof createValidator> {
  const validator = validators.get(document) ?? createValidator(document);
  validators.set(document, validator);
  return validator;
}

/** Checks a value against a schema of the document; growing sets count as closed, instants have one spelling. */
function createValidator(document: OpenApiDocument): (pointer: string, value: unknown) => string | null {
  const anything = () => true;
  const ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    // The tests of the document hold it against the meta-schema. Most of these validators run a few times only.
    validateSchema: false,
    code: { optimize: false },
    formats: { ...formats, 'date-time': instant, 'int32': anything, 'int64': anything, 'binary': anything },
  });
  ajv.addKeyword({ keyword: 'x-extensible-enum', validate: (known: readonly unknown[], value: unknown) => known.includes(value) });
  ajv.addSchema({ $id: 'document', ...structuredClone(document) });
  const known = new Map<string, ValidateFunction | null>();

  return (pointer, value) => {
    if (!known.has(pointer))
      known.set(pointer, resolve(document, pointer) === undefined ? null : ajv.compile({ $ref: `document#${encodeURI(pointer)}` }));
    const validate = known.get(pointer);
    if (!validate) return 'is not declared in the document';
    return validate(value) ? null : ajv.errorsText(validate.errors, { separator: '; ' }).slice(0, 1_000);
  };
}

function resolve(document: OpenApiDocument, pointer: string): unknown {
  const segments = pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
  return segments.reduce<unknown>((at, segment) => (isObject(at) ? at[segment] : undefined), document);
}

function nameOf(request: FastifyRequest): string {
  return request.state?.operation?.operationId ?? `${request.method} ${request.url}`;
}

function textOf(payload: unknown): string | null {
  if (typeof payload === 'string') return payload;
  return Buffer.isBuffer(payload) ? payload.toString() : null;
}

function parse(text: string | null): unknown {
  try {
    return text === null ? null : JSON.parse(text);
  } catch {
    return null;
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
