import { fail, type Violation } from '../../workflows/contracts/failure.ts';
import type { Scope } from '../../workflows/contracts/access.ts';
import { rows } from '../sql.ts';
import type { Unit } from '../unit.ts';
import {
  completeBinding,
  completeDocument,
  limitDocumentBytes,
  noBindings,
  type RevisionDocument,
  type RevisionDraft,
  type ToolBinding,
  type ToolBindingDraft,
} from './revision-document.ts';

/** What is wrong with a revision, and at which stage it matters. Pointers lie within the document. */
export interface RevisionProblem {
  readonly severity: 'error' | 'warning';
  readonly stage: 'create' | 'activate' | 'run';
  readonly pointer: string;
  readonly rule: string;
  readonly message: string;
  readonly params?: Record<string, unknown>;
}

/** What the validation asks of model registry and template engine. */
export interface RevisionChecks {
  /** Null for a model that the deployment can't call; null asks for its default. `lacks` names capabilities that the needs demand. */
  readonly model: (
    name: string | null,
    needs: { readonly hasTools: boolean; readonly reasoning: RevisionDocument['model_settings']['reasoning'] },
  ) => ModelFacts | null;
  /** Rejects with the parser's message. */
  readonly template: (text: string) => Promise<void>;
  /** What in the value breaks the JSON Schema. */
  readonly schema: (
    schema: Readonly<Record<string, unknown>>,
    value: unknown,
  ) => Promise<readonly { readonly pointer: string; readonly rule: string; readonly message: string }[]>;
}

export interface ModelFacts {
  readonly lacks: readonly string[];
  readonly optionKeys: readonly string[];
}

/** Where the agent of a document lives: it may refer to rows of its own scope or a wider one. */
export interface RevisionHome {
  readonly scope: Scope;
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
}

interface TargetRow {
  readonly id: string;
  readonly slug: string;
  readonly scope: Scope;
  readonly is_active: boolean;
  readonly is_quarantined: boolean;
  readonly critical: boolean;
  readonly timeout_s: number;
  readonly input_schema: { readonly properties?: Record<string, unknown>; readonly additionalProperties?: unknown };
}

/** Resolves and checks a draft, whole: the document as it would be stored, and everything that stands against storing or activating it. */
export async function validateRevision(
  unit: Pick<Unit, 'em' | 'tenant'>,
  subject: { readonly home: RevisionHome; readonly draft: RevisionDraft },
  checks: RevisionChecks,
): Promise<{ document: RevisionDocument; problems: RevisionProblem[] }> {
  const { home, draft } = subject;
  const drafts = draft.tools ?? [];
  const targets = await readTargets(unit, home, drafts);
  const problems: RevisionProblem[] = [];
  const bindings: ToolBinding[] = [];
  for (const [index, binding] of drafts.entries()) {
    const target = nearest(targets, binding);
    problems.push(
      ...bindingProblems(`/tools/${index}`, binding, target),
      ...(await presetProblems(`/tools/${index}`, { binding, target }, checks)),
    );
    if (!target) continue;
    if (bindings.some((other) => other.id === target.id || other.slug === target.slug)) {
      problems.push(create(`/tools/${index}`, 'uniqueItems', 'A tool of this name is bound already.', { slug: target.slug }));
      continue;
    }
    bindings.push(completeBinding(binding, target));
  }
  // Toolkits, skills, agents and bases are resolved by the owner of this file next.
  const document = completeDocument(draft, { ...noBindings, tools: bindings });
  problems.push(
    ...modelProblems(document, checks),
    ...(await templateProblems(document, checks)),
    ...variableProblems(document),
    ...sizeProblems(document),
  );
  return { document, problems };
}

/** 422 with all problems of stage create, their pointers under `prefix`; else nothing. */
export function refuseInvalid(problems: readonly RevisionProblem[], prefix: string): void {
  const errors = problems.filter((problem) => problem.stage === 'create' && problem.severity === 'error').slice(0, 50);
  if (errors.length === 0) return;
  throw fail('validation_failed', {
    detail: 'The revision is not valid.',
    errors: errors.map((problem): Violation => ({
      in: 'body',
      pointer: prefix + problem.pointer,
      name: null,
      rule: problem.rule,
      message: problem.message,
      ...(problem.params ? { params: problem.params } : {}),
    })),
  });
}

/** 409 `revision_not_activatable` with the problems of stages create and activate; else nothing. */
export function refuseNotActivatable(problems: readonly RevisionProblem[]): void {
  const errors = problems.filter((problem) => problem.severity === 'error' && problem.stage !== 'run').slice(0, 50);
  if (errors.length === 0) return;
  throw fail('state_conflict', {
    reason: 'revision_not_activatable',
    detail: 'The revision can not be activated.',
    context: { problems: errors },
  });
}

function readTargets(unit: Pick<Unit, 'em' | 'tenant'>, home: RevisionHome, drafts: readonly ToolBindingDraft[]): Promise<TargetRow[]> {
  if (drafts.length === 0) return Promise.resolve([]);
  const ids = drafts.flatMap((draft) => (draft.id === undefined ? [] : [draft.id]));
  const slugs = drafts.flatMap((draft) => (draft.slug === undefined ? [] : [draft.slug]));
  return rows<TargetRow>(
    unit.em,
    `select t.id, t.slug, t.scope, t.is_active, t.quarantined_at is not null as is_quarantined, t.critical, t.timeout_s, t.input_schema
       from tools t
      where t.deleted_at is null and (t.id = any (?::uuid[]) or t.slug = any (?::text[]))
        and ((t.scope = 'platform' and (t.is_active or ?::boolean)) or (t.organization_id = ?::uuid and (t.workspace_id is null or t.workspace_id = ?::uuid)))
      order by array_position(array['workspace', 'organization', 'platform'], t.scope::text)`,
    [ids, slugs, unit.tenant.isOperator, home.organizationId, home.workspaceId],
  );
}

/** By id, else the nearest of the slug; the rows are ordered from near to far. */
function nearest(targets: readonly TargetRow[], draft: ToolBindingDraft): TargetRow | undefined {
  if (draft.id !== undefined) return targets.find((target) => target.id === draft.id);
  return targets.find((target) => target.slug === draft.slug && (!draft.scope || target.scope === draft.scope));
}

function bindingProblems(pointer: string, draft: ToolBindingDraft, target: TargetRow | undefined): RevisionProblem[] {
  if (draft.id === undefined && draft.slug === undefined) return [create(pointer, 'required', 'id or slug is demanded')];
  if (!target)
    return [
      create(pointer, 'reference', 'The tool does not exist where the agent can use it.', { kind: 'tool', slug: draft.slug ?? null }),
    ];

  const problems: RevisionProblem[] = [];
  if (draft.approval === 'never' && target.critical)
    problems.push(create(`${pointer}/approval`, 'critical', 'A critical tool always asks.'));
  if (typeof draft.timeout_s === 'number' && draft.timeout_s > target.timeout_s) {
    problems.push(
      create(`${pointer}/timeout_s`, 'maximum', 'A binding can only lower the timeout of the tool.', { limit: target.timeout_s }),
    );
  }
  if (draft.preset !== undefined && Buffer.byteLength(JSON.stringify(draft.preset)) > 8_192)
    problems.push(create(`${pointer}/preset`, 'maxLength', 'At most 8 KiB.'));
  if (target.input_schema.additionalProperties === false) {
    for (const name of Object.keys(draft.preset ?? {})) {
      if (!Object.hasOwn(target.input_schema.properties ?? {}, name))
        problems.push(create(`${pointer}/preset`, 'unknown_field', 'The tool has no such argument.', { field: name }));
    }
  }
  if (!target.is_active) problems.push(activate(pointer, 'inactive', 'The tool is not active.', { kind: 'tool', slug: target.slug }));
  if (target.is_quarantined)
    problems.push(activate(pointer, 'quarantined', 'The tool is quarantined.', { kind: 'tool', slug: target.slug }));
  return problems;
}

/** Presets are a part of the arguments, so only what the schema says of each argument holds for them, and not what it demands of all. */
const argumentKeywords = ['properties', 'patternProperties', 'additionalProperties', 'propertyNames', '$defs', 'definitions'] as const;

async function presetProblems(
  pointer: string,
  { binding, target }: { readonly binding: ToolBindingDraft; readonly target: TargetRow | undefined },
  checks: RevisionChecks,
): Promise<RevisionProblem[]> {
  if (!target || Object.keys(binding.preset ?? {}).length === 0) return [];
  const whole: Readonly<Record<string, unknown>> = target.input_schema;
  // A closed schema's unknown arguments are told by name already.
  const kept = argumentKeywords.filter((name) => whole[name] !== undefined && whole[name] !== false);
  const schema = { type: 'object', ...Object.fromEntries(kept.map((name) => [name, whole[name]])) };
  const problems = await checks.schema(schema, binding.preset);
  return problems.map((problem) => create(`${pointer}/preset${problem.pointer}`, problem.rule, problem.message));
}

function modelProblems(document: RevisionDocument, checks: RevisionChecks): RevisionProblem[] {
  const problems: RevisionProblem[] = [];
  const needs = { hasTools: document.tools.length > 0, reasoning: document.model_settings.reasoning };
  const named = [
    ['/model', document.model] as const,
    ...document.fallback_models.map((name, index) => [`/fallback_models/${index}`, name] as const),
  ];
  for (const [pointer, name] of named) {
    const facts = checks.model(name, needs);
    if (!facts) {
      problems.push(create(pointer, 'reference', 'The deployment has no such model.', { kind: 'model', slug: name }));
      continue;
    }
    for (const capability of facts.lacks)
      problems.push(create(pointer, 'capability', 'The model lacks what the revision needs.', { capability }));
  }
  return [...problems, ...optionProblems(document, checks.model(document.model, needs))];
}

function optionProblems(document: RevisionDocument, model: ModelFacts | null): RevisionProblem[] {
  const options = document.model_settings.provider_options;
  const pointer = '/model_settings/provider_options';
  if (Buffer.byteLength(JSON.stringify(options)) > 4_096) return [create(pointer, 'maxLength', 'At most 4 KiB.')];
  if (!model) return [];
  return Object.keys(options)
    .filter((key) => !model.optionKeys.includes(key))
    .map((key) => create(pointer, 'unknown_field', 'The provider of the model takes no such option.', { field: key }));
}

async function templateProblems(document: RevisionDocument, checks: RevisionChecks): Promise<RevisionProblem[]> {
  if (document.instructions === '') return [];
  try {
    await checks.template(document.instructions);
    return [];
  } catch (error) {
    // The parser's message quotes the template; only the place is told.
    const place = error instanceof Error ? /line:\d+, col:\d+/.exec(error.message)?.[0] : undefined;
    return [create('/instructions', 'template', `The template can not be read${place ? ` (${place})` : ''}.`)];
  }
}

function variableProblems(document: RevisionDocument): RevisionProblem[] {
  return document.variables.flatMap((variable, index) =>
    document.variables.findIndex((other) => other.name === variable.name) < index
      ? [create(`/variables/${index}/name`, 'uniqueItems', 'The name is taken by another variable.')]
      : [],
  );
}

function sizeProblems(document: RevisionDocument): RevisionProblem[] {
  const problems: RevisionProblem[] = [];
  if (Buffer.byteLength(JSON.stringify(document.metadata)) > 16_384) problems.push(create('/metadata', 'maxLength', 'At most 16 KiB.'));
  if (Buffer.byteLength(JSON.stringify(document)) > limitDocumentBytes)
    problems.push(create('', 'maxLength', 'The document is over 256 KiB.'));
  return problems;
}

function create(pointer: string, rule: string, message: string, params?: Record<string, unknown>): RevisionProblem {
  return { severity: 'error', stage: 'create', pointer, rule, message, ...(params ? { params } : {}) };
}

function activate(pointer: string, rule: string, message: string, params?: Record<string, unknown>): RevisionProblem {
  return { severity: 'error', stage: 'activate', pointer, rule, message, ...(params ? { params } : {}) };
}
