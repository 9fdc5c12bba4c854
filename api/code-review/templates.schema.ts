import Type, { type Static } from 'typebox';
import { findingCategories, generatedKinds, severities, type ReviewTemplates } from '../../workflows/contracts/review/code-review.ts';
import { closed, integer, listOf, oneOf, text } from '../http/input/schema.ts';

const Prompt = (description: string) => text(16_384, { minLength: 1, description });
const Globs = (maxItems: number, description: string) => listOf(text(400, { minLength: 1 }), { maxItems, description });
const Severity = (description: string) => oneOf(severities, { description });
const Category = (description: string) => oneOf(findingCategories, { description });
const Share = (description: string) => Type.Number({ minimum: 0, maximum: 1, description });

const Pass = closed({
  key: text(60, { minLength: 1, pattern: '^[a-z0-9_-]+$' }),
  focus: text(4_000, { minLength: 1, description: 'What it looks for' }),
  model: Type.Optional(text(200, { minLength: 1, description: 'A model of the deployment; defaults to that of the reviewer' })),
  paths: Type.Optional(Globs(100, 'Files that it looks at; defaults to all')),
});
const PathRule = closed({
  paths: Globs(100, 'Files to which it applies'),
  instructions: text(4_000, { minLength: 1 }),
  severity_override: Type.Optional(Severity('Severity of findings in these files')),
});
const LanguageRule = closed({
  id: text(120, { minLength: 1, description: 'Name that findings refer to' }),
  text: text(4_000, { minLength: 1 }),
  severity: Severity('Severity of violations'),
  examples: Type.Optional(text(4_000)),
});
const Definition = text(500, { minLength: 1, description: 'When a finding belongs to it' });
const Definitions = closed(
  Type.Partial(closed({ critical: Definition, high: Definition, medium: Definition, low: Definition, nit: Definition })).properties,
);

const parts = {
  summary: {
    prompt: Prompt('Prompt for the summary'),
    sections: listOf(text(60, { minLength: 1 }), { maxItems: 10, description: 'Sections of the summary' }),
  },
  review: { prompt: Prompt('Prompt for findings, sent once per pass'), passes: listOf(Pass, { minItems: 1, maxItems: 6 }) },
  verify: {
    prompt: Prompt('Prompt to refute a finding'),
    enabled: Type.Boolean(),
    votes: Type.Unsafe<1 | 3 | 5>({
      type: 'integer',
      enum: [1, 3, 5],
      minimum: 1,
      maximum: 5,
      description: 'How often the model is asked; the majority decides',
    }),
  },
  check: {
    title: text(1_000, { minLength: 1, description: 'Template of the check’s title' }),
    summary: Prompt('Template of the check’s summary'),
  },
  reply: { prompt: Prompt('Prompt for the answer to a question') },
  edit: { prompt: Prompt('Prompt for the editor to repair findings') },
  severity: {
    levels: listOf(Severity('A severity level'), { minItems: 1, maxItems: 5, uniqueItems: true }),
    inline_min: Severity('Findings of lower severity only appear in the summary'),
    block_min: Severity('Findings of this severity or higher request changes'),
    definitions: Definitions,
  },
  confidence: {
    min: Share('Findings below this confidence are dropped'),
    exceptions: listOf(closed({ category: Category('Category to which the exception applies'), min: Share('Counts instead') }), {
      maxItems: 10,
    }),
  },
  limits: {
    max_findings: integer({ maximum: 50, description: 'Maximum number of line comments' }),
    max_files: integer({ minimum: 1, maximum: 3_000, description: 'Maximum number of files that are read' }),
    max_patch_tokens: integer({ minimum: 1_000, maximum: 10_000_000, description: 'Maximum size of the diff that is read' }),
    max_calls: integer({ minimum: 1, maximum: 500, description: 'Maximum number of model calls' }),
  },
  output: {
    language: text(60, { minLength: 1, description: 'The language of the review' }),
    tone: text(200, { minLength: 1, description: 'The tone of the review' }),
    grouping: text(60, { minLength: 1, description: 'How findings are grouped in the summary: by file, severity or category' }),
  },
} as const;

const lists = {
  categories: listOf(Category('What findings can be about'), { minItems: 1, maxItems: 9, uniqueItems: true }),
  path_filters: Globs(200, 'Globs of files that are read; ! excludes'),
  generated: listOf(oneOf(generatedKinds), { maxItems: 4, uniqueItems: true, description: 'Kinds of generated files to exclude' }),
  path_rules: listOf(PathRule, { maxItems: 100 }),
  language_rules: Type.Record(Type.String({ pattern: '^[A-Za-z0-9+#. _-]{1,60}$' }), listOf(LanguageRule, { maxItems: 100 }), {
    maxProperties: 100,
    additionalProperties: false,
    description: 'Keyed by the name of the language, in lower case',
  }),
  ignore_rules: listOf(text(1_000, { minLength: 1 }), { maxItems: 100, description: 'What is never reported as a finding' }),
};

export const ReviewTemplatesView = closed(
  {
    schema_version: Type.Literal(1),
    summary: closed(parts.summary),
    review: closed(parts.review),
    verify: closed(parts.verify),
    check: closed(parts.check),
    reply: closed(parts.reply),
    edit: closed(parts.edit),
    severity: closed(parts.severity),
    confidence: closed(parts.confidence),
    ...lists,
    limits: closed(parts.limits),
    output: closed(parts.output),
  },
  { $id: 'ReviewTemplates', description: 'All prompts (Liquid), rules and limits of reviews' },
);

export const ReviewTemplatesInput = closed(
  Type.Partial(
    closed({
      schema_version: Type.Literal(1),
      summary: closed(Type.Partial(closed(parts.summary)).properties),
      review: closed(Type.Partial(closed(parts.review)).properties),
      verify: closed(Type.Partial(closed(parts.verify)).properties),
      check: closed(Type.Partial(closed(parts.check)).properties),
      reply: closed(Type.Partial(closed(parts.reply)).properties),
      edit: closed(Type.Partial(closed(parts.edit)).properties),
      severity: closed(Type.Partial(closed(parts.severity)).properties),
      confidence: closed(Type.Partial(closed(parts.confidence)).properties),
      ...lists,
      limits: closed(Type.Partial(closed(parts.limits)).properties),
      output: closed(Type.Partial(closed(parts.output)).properties),
    }),
  ).properties,
  { $id: 'ReviewTemplatesInput', description: 'Omitted fields are taken from the platform default' },
);

/** Templates as they are shown, part by part. */
export function toTemplatesView(kept: ReviewTemplates): Static<typeof ReviewTemplatesView> {
  const { summary, review, verify, check, reply, edit, severity, confidence, limits, output } = kept;
  return {
    schema_version: 1,
    summary: { prompt: summary.prompt, sections: [...summary.sections] },
    review: {
      prompt: review.prompt,
      passes: review.passes.map(({ paths, ...pass }) => ({ ...pass, ...(paths ? { paths: [...paths] } : {}) })),
    },
    verify: { prompt: verify.prompt, enabled: verify.enabled, votes: verify.votes },
    check: { title: check.title, summary: check.summary },
    reply: { prompt: reply.prompt },
    edit: { prompt: edit.prompt },
    severity: {
      levels: [...severity.levels],
      inline_min: severity.inline_min,
      block_min: severity.block_min,
      definitions: { ...severity.definitions },
    },
    confidence: { min: confidence.min, exceptions: confidence.exceptions.map(({ category, min }) => ({ category, min })) },
    categories: [...kept.categories],
    path_filters: [...kept.path_filters],
    generated: [...kept.generated],
    path_rules: kept.path_rules.map(({ paths, ...rule }) => ({ ...rule, paths: [...paths] })),
    language_rules: Object.fromEntries(
      Object.entries(kept.language_rules).map(([language, rules]) => [language, rules.map((rule) => ({ ...rule }))]),
    ),
    ignore_rules: [...kept.ignore_rules],
    limits: { ...limits },
    output: { ...output },
  };
}
