import { maxDocumentBytes, type RevisionDocument } from '../../db/agents/revisions/revision-document.ts';
import { resultToolSlug } from '../../db/agents/effective/result-tool.ts';
import { atCreate, atRun, type RevisionProblem } from './revision-problems.ts';
import type { ModelChecks, RevisionChecks } from './validate-revision.ts';
import { Failure } from '../../workflows/contracts/failure.ts';

/** Returns the problems of a document beside its references: models, settings, template, schemas, sizes. */
export async function documentProblems(document: RevisionDocument, checks: RevisionChecks): Promise<RevisionProblem[]> {
  return [
    ...modelProblems(document, checks),
    ...(await templateProblems(document, checks)),
    ...(await formatProblems(document, checks)),
    ...(document.input_schema === null ? [] : await schemaProblems('/input_schema', document.input_schema, checks)),
    ...variableProblems(document),
    ...sizeProblems(document),
  ];
}

function modelProblems(document: RevisionDocument, checks: RevisionChecks): RevisionProblem[] {
  const problems: RevisionProblem[] = [];
  const hasLoads = document.skills.some(({ mode }) => mode === 'on_demand');
  const bound = document.tools.length + document.toolkits.length + document.sub_agents.length;
  const needs = { hasTools: bound > 0 || hasLoads, reasoning: document.model_settings.reasoning };
  const named = [
    ['/model', document.model] as const,
    ...document.fallback_models.map((name, index) => [`/fallback_models/${index}`, name] as const),
  ];
  for (const [pointer, name] of named) {
    const facts = checks.model(name, needs);
    if (!facts) {
      problems.push(
        atCreate(pointer, {
          rule: 'reference',
          message: 'This deployment does not have this model; its operator configures models in LONGHAUL_MODEL_REGISTRY.',
          params: { kind: 'model', slug: name },
        }),
      );
      continue;
    }
    const lacks = [...facts.lacks, ...(document.response_format.type === 'json' && !facts.canJson ? ['json'] : [])];
    for (const capability of lacks)
      problems.push(
        atCreate(pointer, { rule: 'capability', message: 'The model lacks a capability that the revision needs.', params: { capability } }),
      );
  }
  return [...problems, ...optionProblems(document, checks.model(document.model, needs))];
}

function optionProblems(document: RevisionDocument, model: ReturnType<ModelChecks>): RevisionProblem[] {
  const options = document.model_settings.provider_options;
  const pointer = '/model_settings/provider_options';
  if (Buffer.byteLength(JSON.stringify(options)) > 4_096)
    return [atCreate(pointer, { rule: 'maxLength', message: 'Must be at most 4 KiB.' })];
  if (!model) return [];
  return Object.keys(options)
    .filter((key) => !model.optionKeys.includes(key))
    .map((field) =>
      atCreate(pointer, { rule: 'unknown_field', message: 'The provider of the model does not support this option.', params: { field } }),
    );
}

async function templateProblems(document: RevisionDocument, checks: RevisionChecks): Promise<RevisionProblem[]> {
  if (document.instructions === '') return [];
  try {
    await checks.template(document.instructions);
    return [];
  } catch (error) {
    if (error instanceof Failure) throw error; // it was not parsed at all
    // The parser's message quotes the template; only its position is reported.
    const place = error instanceof Error ? /line:\d+, col:\d+/.exec(error.message)?.[0] : undefined;
    return [atCreate('/instructions', { rule: 'template', message: `The template cannot be parsed${place ? ` (${place})` : ''}.` })];
  }
}

async function formatProblems({ response_format: format, tools }: RevisionDocument, checks: RevisionChecks): Promise<RevisionProblem[]> {
  const taken = format.type === 'json' ? tools.findIndex(({ slug }) => slug === resultToolSlug) : -1;
  if (taken >= 0)
    return [
      atCreate(`/tools/${taken}`, {
        rule: 'uniqueItems',
        message: 'This name is reserved for the tool that returns a JSON answer.',
        params: { slug: resultToolSlug },
      }),
    ];
  if (format.schema === null) return [];
  if (format.type === 'text')
    return [atCreate('/response_format/schema', { rule: 'unexpected', message: 'Only an answer of type json can have a schema.' })];
  return schemaProblems('/response_format/schema', format.schema, checks);
}

async function schemaProblems(pointer: string, schema: unknown, checks: RevisionChecks): Promise<RevisionProblem[]> {
  const { problems, ignored } = await checks.shape(schema);
  return [
    ...problems.map(({ pointer: at, rule, message }) => atCreate(`${pointer}${at}`, { rule, message })),
    ...ignored.map(({ pointer: at, rule, message }) => atRun(`${pointer}${at}`, { rule, message })),
  ];
}

function variableProblems(document: RevisionDocument): RevisionProblem[] {
  return document.variables.flatMap((variable, index) =>
    document.variables.findIndex((other) => other.name === variable.name) < index
      ? [atCreate(`/variables/${index}/name`, { rule: 'uniqueItems', message: 'Another variable already has this name.' })]
      : [],
  );
}

function sizeProblems(document: RevisionDocument): RevisionProblem[] {
  const problems: RevisionProblem[] = [];
  if (Buffer.byteLength(JSON.stringify(document.metadata)) > 16_384)
    problems.push(atCreate('/metadata', { rule: 'maxLength', message: 'Must be at most 16 KiB.' }));
  if (Buffer.byteLength(JSON.stringify(document)) > maxDocumentBytes)
    problems.push(atCreate('', { rule: 'maxLength', message: 'The document is larger than 256 KiB.' }));
  return problems;
}
