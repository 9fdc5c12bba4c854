import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { TemplateError, type Templates, type TemplateVariables } from '../../ports/templates/templates.ts';
import type { ReviewTemplates } from '../../workflows/contracts/review/code-review.ts';
import { invalid } from '../../workflows/contracts/failure.ts';
import { sampleVariables } from './pipeline/prompt-samples.ts';

type Parts = Omit<ReviewTemplates, 'schema_version'>;

/** The templates as an author sends them: parts may be absent, and members of a part. */
export type TemplatesDraft = { readonly [P in keyof Parts]?: Parts[P] extends readonly unknown[] ? Parts[P] : Partial<Parts[P]> };

/** The most bytes of a revision's complete templates as JSON. */
export const maxTemplateBytes = 262_144;

/** Completes templates with the default's values: a list as a whole, a part by its members. */
export function completeTemplates(draft: TemplatesDraft, base: ReviewTemplates): ReviewTemplates {
  return {
    schema_version: 1,
    summary: { ...base.summary, ...draft.summary },
    review: { ...base.review, ...draft.review },
    verify: { ...base.verify, ...draft.verify },
    check: { ...base.check, ...draft.check },
    reply: { ...base.reply, ...draft.reply },
    edit: { ...base.edit, ...draft.edit },
    severity: { ...base.severity, ...draft.severity },
    confidence: { ...base.confidence, ...draft.confidence },
    categories: draft.categories ?? base.categories,
    path_filters: draft.path_filters ?? base.path_filters,
    generated: draft.generated ?? base.generated,
    path_rules: draft.path_rules ?? base.path_rules,
    language_rules: rulesOf(draft.language_rules) ?? base.language_rules,
    ignore_rules: draft.ignore_rules ?? base.ignore_rules,
    limits: { ...base.limits, ...draft.limits },
    output: { ...base.output, ...draft.output },
  };
}

/** Converts the names of languages to lower case. */
function rulesOf(rules: TemplatesDraft['language_rules']): ReviewTemplates['language_rules'] | undefined {
  if (rules === undefined) return undefined;
  const named = Object.entries(rules).flatMap(([language, those]) =>
    those === undefined ? [] : [[language.toLowerCase(), those] as const],
  );
  return Object.fromEntries(named);
}

/** SHA-256, in hex, of templates as canonical JSON (RFC 8785): equal templates have equal hashes, in whatever order they were sent. */
export function hashOfTemplates(templates: ReviewTemplates): string {
  return createHash('sha256')
    .update(canonicalize(templates) ?? '')
    .digest('hex');
}

/**
 * Renders every prompt with a sample. Throws 422 at the first one that can't be parsed, meets a limit or names an unknown variable, and for templates that are
 * too long, contradict themselves or name something twice.
 */
export async function refuseTemplates(templates: Pick<Templates, 'renderEach'>, given: ReviewTemplates): Promise<void> {
  if (Buffer.byteLength(JSON.stringify(given)) > maxTemplateBytes)
    throw invalid('/templates', 'max_bytes', `must be at most ${maxTemplateBytes} bytes`, { limit: maxTemplateBytes });
  refuseContradiction(given);
  for (const { pointer, text, variables } of promptsOf(given)) await refusePrompt(templates, pointer, { text, variables });
}

function promptsOf(templates: ReviewTemplates) {
  const { summary, review, verify, check, reply, edit } = templates;
  const samples = sampleVariables(templates);
  return [
    { pointer: '/templates/summary/prompt', text: summary.prompt, variables: samples.summary },
    { pointer: '/templates/review/prompt', text: review.prompt, variables: samples.review },
    { pointer: '/templates/verify/prompt', text: verify.prompt, variables: samples.verify },
    { pointer: '/templates/check/title', text: check.title, variables: samples.check },
    { pointer: '/templates/check/summary', text: check.summary, variables: samples.check },
    { pointer: '/templates/reply/prompt', text: reply.prompt, variables: samples.reply },
    { pointer: '/templates/edit/prompt', text: edit.prompt, variables: samples.edit },
  ];
}

async function refusePrompt(
  templates: Pick<Templates, 'renderEach'>,
  pointer: string,
  { text, variables }: { readonly text: string; readonly variables: TemplateVariables },
): Promise<void> {
  const [rendered] = await templates.renderEach([text], variables).catch((error: unknown) => {
    if (!(error instanceof TemplateError)) throw error;
    throw invalid(
      pointer,
      'template',
      'is not a valid template: its syntax is wrong, it uses an unknown filter or tag, or it exceeds a limit',
    );
  });
  const [unknown] = rendered?.missing ?? [];
  if (unknown !== undefined) throw invalid(pointer, 'template', `uses ${unknown.slice(0, 100)}, which is not a variable of this prompt`);
}

function refuseContradiction({
  review,
  severity,
  confidence,
  language_rules: languageRules,
  path_rules: pathRules,
}: ReviewTemplates): void {
  const keys = review.passes.map(({ key }) => key);
  if (new Set(keys).size < keys.length) throw invalid('/templates/review/passes', 'uniqueItems', 'two passes have the same key');
  for (const name of ['inline_min', 'block_min'] as const)
    if (!severity.levels.includes(severity[name])) throw invalid(`/templates/severity/${name}`, 'enum', 'must be one of levels');
  const categories = confidence.exceptions.map(({ category }) => category);
  if (new Set(categories).size < categories.length)
    throw invalid('/templates/confidence/exceptions', 'uniqueItems', 'two exceptions have the same category');
  const rules = Object.values(languageRules).flat();
  if (rules.length > maxRules)
    throw invalid('/templates/language_rules', 'maxItems', `must be at most ${maxRules} in all`, { limit: maxRules });
  if (pathRules.some(({ paths }) => paths.length === 0))
    throw invalid('/templates/path_rules', 'minItems', 'a rule needs at least one path');
}

const maxRules = 100;
