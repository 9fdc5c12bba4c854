import type { ErrorObject } from 'ajv';
import type { Violation, ViolationSource } from '../../../workflows/contracts/failure.ts';
import { escapePointer } from '../../../workflows/contracts/tools/json-pointer.ts';

export const maxViolations = 50;
const maxPointer = 2_000;

/** Converts the errors of the schema validator to those of the error envelope; contains no input value. */
export function toViolations(source: ViolationSource, errors: readonly ErrorObject[]): Violation[] {
  return withoutBranchNoise(errors).map((error) => toViolation(source, error));
}

/** The order of the contract: by location, pointer and name; at most 50, and each as long as the contract allows. */
export function sortViolations(violations: readonly Violation[]): Violation[] {
  const keyOf = (violation: Violation) => `${violation.in}\u0000${violation.pointer ?? ''}\u0000${violation.name ?? ''}`;
  return violations
    .map(withinBounds)
    .toSorted((left, right) => (keyOf(left) < keyOf(right) ? -1 : 1))
    .slice(0, maxViolations);
}

/** A pointer that is too long ends at its last whole parent. */
function withinBounds(violation: Violation): Violation {
  const { pointer } = violation;
  if (pointer === null || pointer.length <= maxPointer) return violation;
  return { ...violation, pointer: pointer.slice(0, pointer.lastIndexOf('/', maxPointer)) };
}

function toViolation(source: ViolationSource, error: ErrorObject): Violation {
  const pointer = pointerOf(error);
  const rule = ruleOf(source, error);
  const params = paramsOf(error);
  const location =
    source === 'body' || source === 'form' ? { pointer, name: null } : { pointer: null, name: pointer.slice(1).split('/')[0] ?? null };
  return { in: source, ...location, rule, message: messageOf(rule, error), ...(params ? { params } : {}) };
}

function ruleOf(source: ViolationSource, error: ErrorObject): string {
  if (error.keyword !== 'additionalProperties' && error.keyword !== 'unevaluatedProperties') return error.keyword;
  return source === 'body' ? 'unknown_field' : 'unknown_parameter';
}

function pointerOf({ keyword, instancePath, params }: ErrorObject): string {
  const inner: unknown =
    keyword === 'required' ? params['missingProperty'] : (params['additionalProperty'] ?? params['unevaluatedProperty']);
  return typeof inner === 'string' ? `${instancePath}/${escapePointer(inner).slice(0, 200)}` : instancePath;
}

function messageOf(rule: string, error: ErrorObject): string {
  if (rule === 'unknown_field') return 'is not a field of this object';
  if (rule === 'unknown_parameter') return 'is not a parameter of this operation';
  if (rule === 'required') return 'is required';
  if (rule === 'enum') return `must be one of: ${textOf(error.params['allowedValues'])}`.slice(0, 300);
  if (rule === 'discriminator') return `needs ${String(error.params['tag'])}, one of: ${textOf(formsOf(error))}`.slice(0, 300);
  return (error.message ?? 'is invalid').slice(0, 300);
}

/** The values of the tag by which the forms of an object differ. */
function formsOf({ params, parentSchema }: ErrorObject): unknown[] {
  const forms: unknown = parentSchema?.['oneOf'];
  if (!Array.isArray(forms)) return [];
  return forms.flatMap((form: { properties?: Record<string, { const?: unknown; enum?: unknown[] }> }) => {
    const tag = form.properties?.[String(params['tag'])];
    return tag?.enum ?? [tag?.const];
  });
}

function textOf(values: unknown): string {
  return Array.isArray(values) ? values.join(', ') : '';
}

/** Only limits and allowed values: the client's input is never returned. */
function paramsOf({ params }: ErrorObject): Record<string, unknown> | null {
  const kept = Object.entries(params).filter(([name]) =>
    ['limit', 'allowedValues', 'allowedValue', 'type', 'format', 'pattern', 'multipleOf'].includes(name),
  );
  return kept.length > 0 ? Object.fromEntries(kept) : null;
}

/** A nullable object fails in both branches; only the errors inside it help the reader. */
function withoutBranchNoise(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const isNullBranch = (error: ErrorObject) => error.keyword === 'type' && error.params['type'] === 'null';
  const isBranching = (error: ErrorObject) => error.keyword === 'oneOf' || error.keyword === 'anyOf' || error.keyword === 'if';
  const telling = errors.filter((error) => !isNullBranch(error) && !isBranching(error));
  return telling.length > 0 ? telling : errors;
}
