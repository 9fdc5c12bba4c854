import type { FastifyRequest } from 'fastify';
import type { TObject, TSchema } from 'typebox';
import type { InexactNumbers } from '../../../workflows/contracts/tools/exact-json.ts';
import { fail, type Failure, type Violation } from '../../../workflows/contracts/failure.ts';
import { decodeBody } from '../../../ports/request-text.ts';
import { parseJson, takesBody } from './body.ts';
import { parseIfMatch } from '../reply/etag.ts';
import { parseForm } from './form.ts';
import { oauthFail } from '../credentials/oauth-failure.ts';
import { parseIdempotencyKey } from '../idempotency/idempotency-key.ts';
import type { RegisteredOperation } from '../operation/operation.ts';
import { querySchemaOf, takesAnyQuery } from '../reply/page.ts';
import { convert, parseQuery } from './query.ts';
import { closed } from './schema.ts';
import { isForbiddenText } from './text-scan.ts';
import { validatorFor, type Validator } from './validator.ts';

/** A request that keeps every rule of its operation. */
export interface ParsedInput {
  readonly params: Record<string, unknown>;
  readonly query: Record<string, unknown>;
  readonly body: unknown;
  /** Empty unless the operation answers for its faults itself. */
  readonly violations: readonly Violation[];
  readonly ifMatch: '*' | readonly string[] | null;
  readonly idempotencyKey: string | null;
}

export type InputParser = (request: FastifyRequest) => ParsedInput;

const exhaustiveBytes = 65_536;

const parsers = new WeakMap<RegisteredOperation, InputParser>();

/** The parser of one operation, the same for every API of a process; its validators compile on first use. */
export function inputParser(operation: RegisteredOperation): InputParser {
  const parser = parsers.get(operation) ?? makeParser(operation);
  parsers.set(operation, parser);
  return parser;
}

function makeParser(operation: RegisteredOperation): InputParser {
  const query = querySchemaOf(operation);
  const checkQuery = validatorFor(query, 'query');
  const checkParams = operation.params ? validatorFor(operation.params, 'path') : null;
  const checkHeaders = operation.headers ? validatorFor(operation.headers, 'header') : null;
  const body: TSchema = operation.body ?? closed({});
  // A form is read while it is stored, by `identify`; a raw handler reads its own.
  const isParsed = takesBody(operation) && !operation.multipart && !operation.rawBody && operation.kind !== 'raw';
  const checkBody = isParsed ? validatorFor(body, operation.form ? 'form' : 'body') : null;
  const asked = { isRequired: operation.method === 'PUT', exact: isExact(body) ? ('all' as const) : ('large' as const) };
  const readBody = (request: FastifyRequest, validator: Validator) =>
    operation.form ? parseFields(request, body, validator) : parseBody(request, validator, asked);

  return (request) => {
    const given = parseQuery(rawQuery(request), query, { isOpen: takesAnyQuery(operation) });
    const params = { ...asRecord(request.params) };
    const violations = [
      ...(checkParams ? checkTexts('path', params, checkParams) : []),
      ...given.violations,
      ...missedBy(given.violations, checkQuery.check(given.values, true)),
      ...rangeViolations(given.values),
      ...(checkHeaders && operation.headers ? checkHeaders.check(headerValues(request, operation.headers), true) : []),
    ];
    const parsed = checkBody ? readBody(request, checkBody) : { value: operation.rawBody ? bytesOf(request) : undefined, violations: [] };
    const found = [...violations, ...parsed.violations];

    if (found.length > 0 && operation.faults !== 'own') throw refusalOf(operation, found);
    return {
      params,
      query: given.values,
      body: parsed.value,
      violations: found,
      ifMatch: operation.ifMatch ? parseIfMatch(request.headers['if-match']) : null,
      idempotencyKey: operation.idempotent ? parseIdempotencyKey(request.headers['idempotency-key']) : null,
    };
  };
}

function parseBody(
  request: FastifyRequest,
  validator: Validator,
  { isRequired, exact }: { readonly isRequired: boolean; readonly exact: InexactNumbers },
): { value: unknown; violations: readonly Violation[] } {
  const bytes = bytesOf(request);
  const given = parseJson(bytes, exact);
  // Nothing counts as an empty object; where a field is required, the whole body is what is missing. So it is in a PUT: a body that was lost must not put
  // all defaults in the place of what there is.
  if (given === undefined && (isRequired || validator.check({}, false).length > 0)) {
    return { value: undefined, violations: [{ in: 'body', pointer: '', name: null, rule: 'required', message: 'is required' }] };
  }
  const value = given ?? (given === null ? null : {});
  return { value, violations: validator.check(value, bytes.length <= exhaustiveBytes) };
}

function parseFields(request: FastifyRequest, schema: TSchema, validator: Validator): { value: unknown; violations: readonly Violation[] } {
  const bytes = bytesOf(request);
  // The body of a form is an object of texts.
  const { values, violations } = parseForm(decodeBody(bytes), schema as TObject);
  const known = new Set(violations.map((violation) => violation.pointer));
  const missed = validator.check(values, true).filter((violation) => !known.has(violation.pointer));
  return { value: values, violations: [...violations, ...missed] };
}

function bytesOf(request: FastifyRequest): Buffer {
  return Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
}

function refusalOf(operation: RegisteredOperation, errors: readonly Violation[]): Failure {
  if (operation.faults !== 'oauth') return fail('validation_failed', { errors });
  return oauthFail('invalid_request', 'A parameter is missing, repeated or malformed.', { errors });
}

function checkTexts(source: 'path', params: Record<string, unknown>, validator: Validator): readonly Violation[] {
  const bad = Object.entries(params).filter(([, text]) => typeof text === 'string' && isForbiddenText(text));
  if (bad.length === 0) return validator.check(params, true);
  return bad.map(([name]): Violation => ({
    in: source,
    pointer: null,
    name,
    rule: 'invalid_text',
    message: 'contains U+0000 or a lone surrogate',
  }));
}

/** A parameter that could not be read is also missing for the schema; each violation is reported only once. */
function missedBy(known: readonly Violation[], found: readonly Violation[]): Violation[] {
  const names = new Set(known.map((violation) => violation.name));
  return found.filter((violation) => !names.has(violation.name));
}

/** Violations if `from` is after `to`. */
export function rangeViolations({ from, to }: Readonly<Record<string, unknown>>): Violation[] {
  if (typeof from !== 'string' || typeof to !== 'string' || Date.parse(from) <= Date.parse(to)) return [];
  return Number.isNaN(Date.parse(from)) || Number.isNaN(Date.parse(to))
    ? []
    : [{ in: 'query', pointer: null, name: 'from', rule: 'range', message: 'must not be later than to' }];
}

function headerValues(request: FastifyRequest, schema: TObject): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [name, property] of Object.entries(schema.properties)) {
    const given = request.headers[name];
    // A TypeBox schema is a plain JSON Schema object.
    if (given !== undefined) values[name] = convert(String(given), (property as { type?: string }).type);
  }
  return values;
}

/** Returns the raw query string of a request, after the `?`. */
export function rawQuery(request: FastifyRequest): string {
  const url = request.raw.url ?? '';
  const start = url.indexOf('?');
  if (start < 0) return '';
  const end = url.indexOf('#', start);
  return url.slice(start + 1, end < 0 ? undefined : end);
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

/** Whether a body holds an amount (a decimal that comes as a number or as a text, and is kept to its last digit) or arguments of a tool. */
function isExact(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false;
  const type: unknown = Reflect.get(schema, 'type');
  if (Array.isArray(type) && type.includes('number') && type.includes('string')) return true;
  if (Reflect.get(schema, 'x-free-object') === 'exact') return true;
  return Object.values(schema).some(isExact);
}
