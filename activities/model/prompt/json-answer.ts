import { resultToolSlug } from '../../../db/agents/effective/result-tool.ts';
import type { ResponseFormat } from '../../../db/agents/revisions/revision-document.ts';
import type { TenantSchemas } from '../../../ports/json/schema.ts';
import type { ResolvedModel } from '../../../ports/models/models.ts';
import { findInexact } from '../../../workflows/contracts/tools/exact-json.ts';
import type { PromptTool } from './prompt.ts';
import { cleanJson } from '../wire/plain-text.ts';

/** How a model is made to answer in JSON. */
export interface JsonAnswer {
  readonly mode: 'native' | 'tool' | 'prompt';
  /** Null accepts any JSON. */
  readonly schema: Readonly<Record<string, unknown>> | null;
  readonly name: string;
  readonly strict: boolean;
}

/** Null for an answer in words. */
export function jsonAnswerOf(model: Pick<ResolvedModel, 'capabilities'>, format: ResponseFormat): JsonAnswer | null {
  if (format.type === 'text') return null;
  const { json, tools } = model.capabilities;
  return { mode: json === 'tool' && !tools ? 'prompt' : json, schema: format.schema, name: format.name ?? 'result', strict: format.strict };
}

/** The tool that the model is forced to call; null in the other modes. */
export function resultToolOf(answer: JsonAnswer | null): PromptTool | null {
  if (answer?.mode !== 'tool') return null;
  return {
    slug: resultToolSlug,
    description: 'Gives the final result. Call it once, alone, when the task is done.',
    inputSchema: answer.schema === null ? { type: 'object', additionalProperties: true } : { ...answer.schema },
    effect: 'write',
  };
}

/** Returns what the system prompt says about the form of the answer; empty where the request itself says it. */
export function formatNotice(answer: JsonAnswer | null): string {
  if (answer === null || answer.mode === 'tool' || (answer.mode === 'native' && answer.schema !== null)) return '';
  const fit = answer.schema === null ? '' : ` It must fit this JSON Schema:\n${JSON.stringify(answer.schema)}`;
  return `Give your final answer as one JSON value and nothing else: no words around it, no code fence.${fit}`;
}

export type JudgedAnswer =
  | { readonly kind: 'fits'; readonly value: unknown }
  /** `told` explains to the model what is wrong; it holds only names of fields, no values. */
  | { readonly kind: 'broken'; readonly told: string };

/** Validates a model's final answer: the arguments of the result tool, otherwise its text. `argsText`: the arguments as the model wrote them. */
export async function judgeAnswer(
  schemas: Pick<TenantSchemas, 'validate'>,
  answer: JsonAnswer,
  given: { readonly args: unknown; readonly argsText: string; readonly text: string },
): Promise<JudgedAnswer> {
  const value = given.args ?? parseJson(given.text);
  if (value === undefined) {
    const isInexact = findInexact(given.argsText, 'large') !== null || findInexact(bareJson(given.text), 'large') !== null;
    return { kind: 'broken', told: isInexact ? tooManyDigits : 'The answer is not a JSON value.' };
  }
  if (answer.schema === null) return { kind: 'fits', value };
  const problems = await schemas.validate(answer.schema, value);
  if (problems.length === 0) return { kind: 'fits', value };
  const told = problems.slice(0, 10).map((problem) => `${problem.pointer || '/'} ${problem.message}`);
  return { kind: 'broken', told: `The answer does not fit the schema: ${told.join('; ')}`.slice(0, 2_000) };
}

/** Returns the text that asks the model once to correct a broken answer. */
export function repairRequest(told: string): string {
  return `${told}\nGive the whole answer again, corrected.`;
}

const tooManyDigits =
  'A number in the answer has more digits than a number can keep, so it would be changed on its way. Write it as a string where the form of the answer takes one.';

/**
 * Returns a JSON value, also from inside the code fence that models like to put around it; undefined for anything else, and where a number in it would change.
 */
export function parseJson(text: string): unknown {
  const json = bareJson(text);
  if (findInexact(json, 'large') !== null) return undefined;
  try {
    return cleanJson(JSON.parse(json));
  } catch {
    return undefined;
  }
}

function bareJson(text: string): string {
  const trimmed = text.trim();
  return /^```(?:json)?\s*\n([\s\S]*?)\n?```$/.exec(trimmed)?.[1] ?? trimmed;
}
