import { findInexact } from '../../workflows/contracts/tools/exact-json.ts';
import type { DatasetItem, ExpectedCall, ItemInput, ItemMessage } from '../../workflows/contracts/evaluations.ts';

/** An error in an item: its pointer, and the rule that it breaks. Holds no value of the item. */
export interface ItemProblem {
  readonly pointer: string;
  readonly rule: string;
  readonly message: string;
}

type ObjectValue = Readonly<Record<string, unknown>>;

const maxInputBytes = 65_536;
const maxPartBytes = 32_768;
const fields = new Set(['id', 'input', 'expected', 'context', 'tools_expected', 'tags', 'cluster', 'evaluators']);

/** Reads an item in any form, or returns its errors. */
export function readItem(value: unknown): DatasetItem | readonly ItemProblem[] {
  if (!isObject(value)) return [problem('', 'type', 'must be an object')];
  const problems: ItemProblem[] = Object.keys(value)
    .filter((name) => !fields.has(name))
    .map((name) => problem(`/${name.slice(0, 60)}`, 'additionalProperties', 'is not a field of an item'));
  const texts = { id: optionalText(value['id'], 120), cluster: optionalText(value['cluster'], 120) };
  if (texts.id === undefined) problems.push(problem('/id', 'type', 'must be a string of 1 to 120 characters'));
  if (texts.cluster === undefined) problems.push(problem('/cluster', 'type', 'must be a string of 1 to 120 characters'));
  const lists = {
    tags: textList(value['tags'], { count: 10, length: 60 }),
    evaluators: textList(value['evaluators'], { count: 20, length: 60 }),
  };
  if (lists.tags === undefined) problems.push(problem('/tags', 'type', 'must be at most 10 texts of at most 60 characters'));
  if (lists.evaluators === undefined) problems.push(problem('/evaluators', 'type', 'must be keys of evaluators'));
  const context = value['context'] ?? null;
  if (context !== null && !isObject(context)) problems.push(problem('/context', 'type', 'must be an object'));
  const calls = callsOf(value['tools_expected'] ?? null);
  if (calls === undefined) problems.push(problem('/tools_expected', 'type', 'must be at most 50 of {tool, arguments?}'));
  const input = inputOf(value['input']);
  if (input === undefined) problems.push(problem('/input', value['input'] === undefined ? 'required' : 'type', inputRule));
  problems.push(...tooLarge(value));
  if (problems.length > 0 || input === undefined) return problems;

  return {
    id: texts.id ?? null,
    input,
    expected: value['expected'] ?? null,
    context: isObject(context) ? context : null,
    toolsExpected: calls ?? null,
    tags: [...new Set(lists.tags ?? [])],
    cluster: texts.cluster ?? null,
    evaluators: lists.evaluators ?? null,
  };
}

const inputRule = 'must be a string, an object, or messages of {role, content}, the last one from the user';

function inputOf(value: unknown): ItemInput | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value;
  if (isObject(value)) return value;
  if (!Array.isArray(value) || value.length === 0 || value.length > 200 || !value.every(isMessage)) return undefined;
  return value.at(-1)?.role === 'user' ? value : undefined;
}

function isMessage(value: unknown): value is ItemMessage {
  if (!isObject(value) || Object.keys(value).length !== 2) return false;
  return (value['role'] === 'user' || value['role'] === 'assistant') && typeof value['content'] === 'string' && value['content'] !== '';
}

function callsOf(value: unknown): readonly ExpectedCall[] | null | undefined {
  if (value === null) return null;
  return Array.isArray(value) && value.length <= 50 && value.every(isCall) ? value : undefined;
}

function isCall(value: unknown): value is ExpectedCall {
  if (!isObject(value) || typeof value['tool'] !== 'string' || value['tool'] === '' || value['tool'].length > 120) return false;
  if (Object.keys(value).some((name) => name !== 'tool' && name !== 'arguments')) return false;
  return value['arguments'] === undefined || isObject(value['arguments']);
}

function tooLarge(value: ObjectValue): ItemProblem[] {
  const bounds = { input: maxInputBytes, expected: maxPartBytes, context: maxPartBytes, tools_expected: maxPartBytes };
  return Object.entries(bounds).flatMap(([name, bytes]) => {
    const part = value[name] ?? null;
    const isOver = Buffer.byteLength(typeof part === 'string' ? part : JSON.stringify(part)) > bytes;
    return isOver ? [problem(`/${name}`, 'maxLength', `must be at most ${bytes / 1_024} KB`)] : [];
  });
}

/** Returns null for an absent value, undefined for a value that is no such text. */
function optionalText(value: unknown, length: number): string | null | undefined {
  if (value === undefined || value === null) return null;
  return typeof value === 'string' && value !== '' && value.length <= length ? value : undefined;
}

function textList(value: unknown, { count, length }: { readonly count: number; readonly length: number }): string[] | null | undefined {
  if (value === undefined || value === null) return null;
  if (!Array.isArray(value) || value.length > count) return undefined;
  return value.every((one): one is string => typeof one === 'string' && one !== '' && one.length <= length) ? value : undefined;
}

function isObject(value: unknown): value is ObjectValue {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function problem(pointer: string, rule: string, message: string): ItemProblem {
  return { pointer, rule, message };
}

const unstorable = /\\u0000|\\u[dD][89a-fA-F][0-9a-fA-F]{2}/;

/** Parses a JSON text, or returns the error for which it is refused, by the rules of a request's own body. */
export function readJsonText(text: string): { readonly value: unknown } | ItemProblem {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return problem('', 'json', 'is not valid JSON');
  }
  if (findInexact(text, 'large') !== null) return problem('', 'number', 'contains an integer beyond 2^53; write it as a string');
  if (!isStorable(value, text)) return problem('', 'text', 'contains U+0000, a lone surrogate, the name __proto__ or more than 32 levels');
  return { value };
}

function isStorable(value: unknown, text: string): boolean {
  const walk = (node: unknown, depth: number): boolean => {
    if (depth > 32) return false;
    if (typeof node === 'string') return !unstorable.test(text) || (node.isWellFormed() && !node.includes('\u0000'));
    if (Array.isArray(node)) return node.every((child) => walk(child, depth + 1));
    if (typeof node !== 'object' || node === null) return true;
    return Object.entries(node).every(([name, child]) => name !== '__proto__' && walk(name, depth + 1) && walk(child, depth + 1));
  };
  return walk(value, 0);
}
