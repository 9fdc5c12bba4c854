import type { ErrorObject, ValidateFunction } from 'ajv';
import {
  dataKeywords,
  dialectOf,
  mapsOfNames,
  unknownDialect,
  type SchemaDialect,
} from '../../workflows/contracts/tools/schema-dialect.ts';
import { toMend } from './schema.ts';
import { compilerOf } from './schema-compilers.ts';
import { costProblem } from './schema-cost.ts';
import { step, unreadablePatterns, withoutUnreadable } from './schema-patterns.ts';

/** One rule that a value breaks: JSON pointer into the value, keyword and a text without the value. */
export interface SchemaProblem {
  readonly pointer: string;
  readonly rule: string;
  readonly message: string;
}

/** The findings about a schema; pointers lie within it. */
export interface SchemaReading {
  /** Errors that make it unusable; empty when it can be applied. */
  readonly problems: readonly SchemaProblem[];
  /** Parts without effect: an unknown `$schema` (rule `$schema`), patterns that can't be read in linear time (rule `pattern`). */
  readonly ignored: readonly SchemaProblem[];
}

const maxBytes = 64 * 1024;
const maxDepth = 20;
const maxProblems = 50;
const cachedValidators = 500;

/** Keywords that change the validator itself: asynchronous ones throw outside of it, dynamic ones may never end, an id names a location outside. */
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

/** Reads a schema by the rules of its draft. Runs in a child of the pool: compiling may take long. */
export function readSchema(schema: unknown): SchemaReading {
  const problems = shapeProblems(schema);
  if (problems.length > 0 || !isObject(schema)) return { problems, ignored: [] };
  const { dialect, isUnknown } = dialectOf(schema);
  const vain = isUnknown ? [{ pointer: '/$schema', rule: '$schema', message: unknownDialect }] : [];
  try {
    const patterns = unreadablePatterns(schema).slice(0, maxProblems);
    const ignored = [...vain, ...patterns.map((pattern) => ({ ...pattern, rule: 'pattern' }))];
    const cost = costProblem(schema);
    if (cost)
      return {
        problems: [{ pointer: cost.pointer, rule: 'too_costly', message: `evaluating it takes too long: ${cost.message}` }],
        ignored,
      };
    compiled(schema);
    return { problems: [], ignored };
  } catch (error) {
    const message = `is not a valid JSON Schema ${dialect}: ${messageOf(error)}`;
    return { problems: [{ pointer: '', rule: 'schema', message }], ignored: vain };
  }
}

/** Returns what must be fixed in a schema before it is accepted: errors that make it unusable, and patterns that would be ignored. */
export function checkSchema(schema: unknown): SchemaProblem[] {
  return toMend(readSchema(schema));
}

/** Returns the rules of `schema` that `value` breaks, at most 50. A schema that can't be applied is itself a problem. */
export function validateValue(schema: Readonly<Record<string, unknown>>, value: unknown): SchemaProblem[] {
  try {
    const validate = compiled(schema);
    if (validate(value)) return [];
    return (validate.errors ?? []).slice(0, maxProblems).map(toProblem);
  } catch (error) {
    return [{ pointer: '', rule: 'schema', message: `the schema cannot be applied: ${messageOf(error)}` }];
  }
}

// A cache of one child; it is lost when the child is killed.
const validators = new Map<string, ValidateFunction>();

function compiled(schema: Readonly<Record<string, unknown>>): ValidateFunction {
  const text = JSON.stringify(schema);
  const known = validators.get(text);
  if (known) return known;

  const { dialect } = dialectOf(schema);
  const validate = compilerOf(dialect).compile({ ...withoutUnreadable(unnamed(schema, dialect)) });
  if (validators.size >= cachedValidators) validators.delete(validators.keys().next().value ?? '');
  validators.set(text, validate);
  return validate;
}

/** Returns the schema without its draft, which has chosen the compiler, and without its id: references lead only into the schema itself. */
function unnamed(schema: Readonly<Record<string, unknown>>, dialect: SchemaDialect): Readonly<Record<string, unknown>> {
  const { $schema: _dialect, $id: _id, ...rest } = schema;
  if (dialect !== 'draft-04') return rest;
  const { id: _oldId, ...oldest } = rest;
  return oldest;
}

function shapeProblems(schema: unknown): SchemaProblem[] {
  if (!isObject(schema)) return [{ pointer: '', rule: 'type', message: 'must be an object' }];
  if (schema['type'] !== 'object') return [{ pointer: '/type', rule: 'const', message: 'the root must be of type object' }];
  if (Buffer.byteLength(JSON.stringify(schema)) > maxBytes)
    return [{ pointer: '', rule: 'maxLength', message: `must be at most ${maxBytes} bytes` }];

  const { dialect } = dialectOf(schema);
  const refused = dialect === 'draft-04' ? [...refusedKeywords, 'id'] : refusedKeywords;
  const problems: SchemaProblem[] = [];
  walk(unnamed(schema, dialect), { pointer: '', depth: 1, kind: 'schema' }, refused, problems);
  return problems;
}

/** The location of a node, and whether its keys are keywords, names that the author chose, or part of a value. */
interface Location {
  readonly pointer: string;
  readonly depth: number;
  readonly kind: 'schema' | 'names' | 'value';
}

function walk(node: unknown, { pointer, depth, kind }: Location, refused: readonly string[], problems: SchemaProblem[]): void {
  if (problems.length >= maxProblems || node === null || typeof node !== 'object') return;
  if (depth > maxDepth) {
    problems.push({ pointer, rule: 'max_depth', message: `must be at most ${maxDepth} levels deep` });
    return;
  }
  for (const [key, value] of Object.entries(node)) {
    const at = `${pointer}/${step(key)}`;
    if (kind === 'schema' && refused.includes(key)) problems.push({ pointer: at, rule: 'schema', message: `${key} is not allowed` });
    if (kind === 'schema' && key === '$ref' && typeof value === 'string' && !value.startsWith('#')) {
      problems.push({ pointer: at, rule: 'reference', message: 'only references inside the schema are allowed' });
    }
    walk(value, { pointer: at, depth: depth + 1, kind: kindBelow(kind, key) }, refused, problems);
  }
}

function kindBelow(kind: Location['kind'], key: string): Location['kind'] {
  if (kind !== 'schema') return kind === 'names' ? 'schema' : 'value';
  if (dataKeywords.has(key)) return 'value';
  return mapsOfNames.has(key) ? 'names' : 'schema';
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
