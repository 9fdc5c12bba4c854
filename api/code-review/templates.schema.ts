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
  model: Type.Optional(text(200, { minLength: 1, description: 'A model of the deployment; the reviewer’s own unless given' })),
  paths: Type.Optional(Globs(100, 'Files that it looks at; all unless given')),
});
const PathRule = closed({
  paths: Globs(100, 'Files that it is about'),
  instructions: text(4_000, { minLength: 1 }),
  severity_override: Type.Optional(Severity('Of what is found there')),
});
const LanguageRule = closed({
  id: text(120, { minLength: 1, description: 'Findings name it' }),
  text: text(4_000, { minLength: 1 }),
  severity: Severity('Of what breaks it'),
  examples: Type.Optional(text(4_000)),
});
const Definition = text(500, { minLength: 1, description: 'When a finding is of it' });
const Definitions = closed(
  Type.Partial(closed({ critical: Definition, high: Definition, medium: Definition, low: Definition, nit: Definition })).properties,
);

const parts = {
  summary: {
    prompt: Prompt('Asks for the summary'),
    sections: listOf(text(60, { minLength: 1 }), { maxItems: 10, description: 'What the summary is made of' }),
  },
  review: { prompt: Prompt('Asks for findings, once a pass'), passes: listOf(Pass, { minItems: 1, maxItems: 6 }) },
  verify: {
    prompt: Prompt('Asks to refute a finding'),
    enabled: Type.Boolean(),
    votes: Type.Unsafe<1 | 3 | 5>({
      type: 'integer',
      enum: [1, 3, 5],
      minimum: 1,
      maximum: 5,
      description: 'How often is asked; the majority counts',
    }),
  },
  check: {
    title: text(1_000, { minLength: 1, description: 'Template of the check’s title' }),
    summary: Prompt('Template of the check’s summary'),
  },
  reply: { prompt: Prompt('Asks for the answer to a question') },
  edit: { prompt: Prompt('Asks the editor to repair findings') },
  severity: {
    levels: listOf(Severity('A level that findings may have'), { minItems: 1, maxItems: 5, uniqueItems: true }),
    inline_min: Severity('Lesser ones stand in the summary'),
    block_min: Severity('Those and worse ones ask for changes'),
    definitions: Definitions,
  },
  confidence: {
    min: Share('Findings below are dropped'),
    exceptions: listOf(closed({ category: Category('Of these findings'), min: Share('Counts instead') }), { maxItems: 10 }),
  },
  limits: {
    max_findings: integer({ maximum: 50, description: 'Comments on lines' }),
    max_files: integer({ minimum: 1, maximum: 3_000, description: 'Files that are read' }),
    max_patch_tokens: integer({ minimum: 1_000, maximum: 10_000_000, description: 'Of the diff that is read' }),
    max_calls: integer({ minimum: 1, maximum: 500, description: 'Calls of models' }),
  },
  output: {
    language: text(60, { minLength: 1, description: 'In which is written' }),
    tone: text(200, { minLength: 1, description: 'How is written' }),
    grouping: text(60, { minLength: 1, description: 'What findings in the summary are grouped by: file, severity or category' }),
  },
} as const;

const lists = {
  categories: listOf(Category('What findings may be about'), { minItems: 1, maxItems: 9, uniqueItems: true }),
  path_filters: Globs(200, 'Files that are read; ! leaves out'),
  generated: listOf(oneOf(generatedKinds), { maxItems: 4, uniqueItems: true, description: 'Generated files that are left out' }),
  path_rules: listOf(PathRule, { maxItems: 100 }),
  language_rules: Type.Record(Type.String({ pattern: '^[A-Za-z0-9+#. _-]{1,60}$' }), listOf(LanguageRule, { maxItems: 100 }), {
    maxProperties: 100,
    additionalProperties: false,
    description: 'By the name of the language, in lower case',
  }),
  ignore_rules: listOf(text(1_000, { minLength: 1 }), { maxItems: 100, description: 'What is never a finding' }),
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
  { $id: 'ReviewTemplates', description: 'Prompts (Liquid), rules and limits of reviews, complete' },
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
  { $id: 'ReviewTemplatesInput', description: 'What is left out is the platform default’s' },
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
