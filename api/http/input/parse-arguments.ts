import type { TSchema } from 'typebox';
import { fail, type Violation, type ViolationSource } from '../../../workflows/contracts/failure.ts';
import { takesBody } from './body.ts';
import { parseIfMatch } from '../reply/etag.ts';
import { parseIdempotencyKey } from '../idempotency/idempotency-key.ts';
import type { RegisteredOperation } from '../operation/operation.ts';
import { querySchemaOf } from '../reply/page.ts';
import { rangeViolations, type ParsedInput } from './parse-input.ts';
import { closed } from './schema.ts';
import { findForbiddenText, forbiddenViolations } from './text-scan.ts';
import { validatorFor } from './validator.ts';

type Json = Record<string, unknown>;

/** Takes the arguments of a tool call; `isShort` lists every violation, else the first. */
export type ArgumentsParser = (given: Readonly<Json>, isShort: boolean) => ParsedInput;

/** What headers carry on the route. */
export const keyArgument = 'idempotency_key';
export const tagArgument = 'if_match';

/**
 * Makes the parser of one operation for one object of arguments in place of path, query, headers and body: the same schemas and the same
 * refusals. What no part declares counts to the body, or without one to the query.
 */
export function argumentsParser(operation: RegisteredOperation): ArgumentsParser {
  const query = querySchemaOf(operation);
  const checkQuery = validatorFor(query, 'query');
  const checkParams = operation.params ? validatorFor(operation.params, 'path') : null;
  const body: TSchema = operation.body ?? closed({});
  const checkBody = takesBody(operation) ? validatorFor(body, 'body') : null;

  return (given, isShort) => {
    refuseForbidden(given);
    const sorted = sortArguments(operation, given, query.properties);
    const violations = [
      ...(checkParams?.check(sorted.params, true) ?? []),
      ...emptyTexts(sorted.query),
      ...checkQuery.check(sorted.query, true),
      ...rangeViolations(sorted.query),
      ...headerViolations(sorted),
      ...(checkBody?.check(sorted.body, isShort) ?? []),
    ];
    if (violations.length > 0) throw fail('validation_failed', { errors: violations });

    return {
      params: sorted.params,
      query: sorted.query,
      body: checkBody ? sorted.body : undefined,
      violations: [],
      ifMatch: typeof sorted.tag === 'string' ? parseIfMatch(sorted.tag) : null,
      idempotencyKey: typeof sorted.key === 'string' ? parseIdempotencyKey(sorted.key) : null,
    };
  };
}

interface SortedArguments {
  readonly params: Json;
  readonly query: Json;
  readonly body: Json;
  readonly key: unknown;
  readonly tag: unknown;
}

function sortArguments(operation: RegisteredOperation, given: Readonly<Json>, queryProperties: Readonly<Json>): SortedArguments {
  const params: Json = {};
  const query: Json = {};
  const body: Json = {};
  const rest = takesBody(operation) ? body : query;
  let [key, tag]: [unknown, unknown] = [undefined, undefined];

  for (const [name, value] of Object.entries(given)) {
    if (operation.params && Object.hasOwn(operation.params.properties, name)) params[name] = value;
    else if (Object.hasOwn(queryProperties, name)) query[name] = value;
    else if (name === keyArgument && operation.idempotent) key = value;
    else if (name === tagArgument && operation.ifMatch !== null) tag = value;
    else rest[name] = value;
  }
  return { params, query, body, key, tag };
}

function refuseForbidden(given: Readonly<Json>): void {
  const found = findForbiddenText(given);
  if (found.hasPrototypeKey) throw fail('malformed_request', { detail: 'The arguments contain a key that is not allowed.' });
  const errors = forbiddenViolations(found);
  if (errors.length > 0) throw fail('validation_failed', { errors });
}

/** A query has no form for an empty text; one that a schema allows elsewhere is refused here too. */
function emptyTexts(query: Readonly<Json>): Violation[] {
  const isEmpty = (value: unknown) => value === '' || (Array.isArray(value) && value.includes(''));
  return Object.entries(query)
    .filter(([, value]) => isEmpty(value))
    .map(([name]) => violation('query', name, 'minLength', 'must not be empty'));
}

function headerViolations({ key, tag }: Pick<SortedArguments, 'key' | 'tag'>): Violation[] {
  const isText = (value: unknown) => value === undefined || typeof value === 'string';
  return [
    ...(isText(key) ? [] : [violation('header', 'idempotency-key', 'type', 'must be string')]),
    ...(isText(tag) ? [] : [violation('header', 'if-match', 'type', 'must be string')]),
  ];
}

function violation(source: ViolationSource, name: string, rule: string, message: string): Violation {
  return { in: source, pointer: null, name, rule, message };
}
