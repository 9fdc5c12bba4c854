import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { RE2JS } from 're2js';
import { costProblem } from './schema-cost.ts';

/** One rule that a value breaks: JSON pointer into the value, keyword and a text without the value. */
export interface SchemaProblem {
  readonly pointer: string;
  readonly rule: string;
  readonly message: string;
}

const limitBytes = 64 * 1024;
const limitDepth = 20;
const limitProblems = 50;
const cachedValidators = 500;

/** Keywords that change what the validator is: asynchronous ones throw past it, dynamic ones may never end, an id names a place outside. */
const refusedKeywords: readonly string[] = [
  '$async',
  '$id',
  '$anchor',
  '$dynamicRef',
  '$dynamicAnchor',
  '$recursiveRef',
  '$recursiveAnchor',
  '$vocabulary',
];

/** What makes the schema unusable; empty when it is sound. Runs in a child of the pool: compiling may take long. */
export function checkSchema(schema: unknown): SchemaProblem[] {
  const problems = shapeProblems(schema);
  if (problems.length > 0) return problems;
  try {
    const cost = costProblem(schema as Record<string, unknown>); // shapeProblems has seen that it is an object
    if (cost) return [{ pointer: cost.pointer, rule: 'too_costly', message: `evaluating it takes too long: ${cost.message}` }];
    compiled(schema as Record<string, unknown>);
    return [];
  } catch (error) {
    return [{ pointer: '', rule: 'schema', message: `is not a valid JSON Schema 2020-12: ${messageOf(error)}` }];
  }
}

/** What in `value` breaks `schema`, at most 50 entries. A schema that can't be applied is a problem of its own. */
export function validateValue(schema: Readonly<Record<string, unknown>>, value: unknown): SchemaProblem[] {
  try {
    const validate = compiled(schema);
    if (validate(value)) return [];
    return (validate.errors ?? []).slice(0, limitProblems).map(toProblem);
  } catch (error) {
    return [{ pointer: '', rule: 'schema', message: `the schema can not be applied: ${messageOf(error)}` }];
  }
}

// A cache of one child; a killed child takes it along.
const validators = new Map<string, ValidateFunction>();

function compiled(schema: Readonly<Record<string, unknown>>): ValidateFunction {
  const text = JSON.stringify(schema);
  const known = validators.get(text);
  if (known) return known;

  const validate = newAjv().compile(schema);
  if (validators.size >= cachedValidators) validators.delete(validators.keys().next().value ?? '');
  validators.set(text, validate);
  return validate;
}

function newAjv(): Ajv2020 {
  return new Ajv2020({
    strict: false,
    allErrors: true,
    ownProperties: true,
    validateFormats: false,
    addUsedSchema: false,
    code: { regExp: Object.assign(linearPattern, { code: 'linearPattern' }) },
  });
}

/** A regular expression in linear time. Ajv keys compiled patterns by `toString`, so each needs its own. */
function linearPattern(pattern: string) {
  const expression = RE2JS.compile(RE2JS.translateRegExp(pattern));
  return { test: (text: string) => expression.matcher(text).find(), toString: () => `re2:${pattern}` };
}

function shapeProblems(schema: unknown): SchemaProblem[] {
  if (!isObject(schema)) return [{ pointer: '', rule: 'type', message: 'must be an object' }];
  if (schema['type'] !== 'object') return [{ pointer: '/type', rule: 'const', message: 'the root must be of type object' }];
  if (Buffer.byteLength(JSON.stringify(schema)) > limitBytes)
    return [{ pointer: '', rule: 'maxLength', message: `must be at most ${limitBytes} bytes` }];

  const problems: SchemaProblem[] = [];
  walk(schema, '', 1, problems);
  return problems;
}

/** Keys of these are names that the author chose, no keywords. */
const mapsOfNames: readonly string[] = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependentRequired'];

function walk(node: unknown, pointer: string, depth: number, problems: SchemaProblem[], areNames = false): void {
  if (problems.length >= limitProblems || node === null || typeof node !== 'object') return;
  if (depth > limitDepth) {
    problems.push({ pointer, rule: 'max_depth', message: `must be at most ${limitDepth} levels deep` });
    return;
  }
  for (const [key, value] of Object.entries(node)) {
    const at = `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    if (!areNames && refusedKeywords.includes(key)) problems.push({ pointer: at, rule: 'schema', message: `${key} is not allowed` });
    if (!areNames && key === '$ref' && typeof value === 'string' && !value.startsWith('#')) {
      problems.push({ pointer: at, rule: 'reference', message: 'only references inside the schema are allowed' });
    }
    walk(value, at, depth + 1, problems, !areNames && mapsOfNames.includes(key));
  }
}

function toProblem(error: ErrorObject): SchemaProblem {
  return { pointer: error.instancePath, rule: error.keyword, message: error.message ?? 'is not valid' };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, 200);
}
