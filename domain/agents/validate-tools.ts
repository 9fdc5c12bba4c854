import {
  completeBinding,
  completeToolkitBinding,
  type RevisionDraft,
  type ToolBinding,
  type ToolkitBinding,
} from '../../db/agents/revisions/revision-document.ts';
import { atActivation, atCreate, atRun, type RevisionProblem } from './revision-problems.ts';
import { nearest, type RevisionTargets, type ToolTarget, type ToolkitTarget } from '../../db/agents/revisions/revision-targets.ts';
import { unresolved } from './validate-references.ts';
import type { RevisionChecks } from './validate-revision.ts';

type ToolDraft = NonNullable<RevisionDraft['tools']>[number];
type ToolkitDraft = NonNullable<RevisionDraft['toolkits']>[number];

/** Resolves the tools of a draft, and returns the problems of each binding. */
export async function bindTools(
  drafts: readonly ToolDraft[],
  targets: RevisionTargets,
  checks: RevisionChecks,
): Promise<{ bindings: ToolBinding[]; problems: RevisionProblem[] }> {
  const problems: RevisionProblem[] = [];
  const bindings: ToolBinding[] = [];
  for (const [index, draft] of drafts.entries()) {
    const pointer = `/tools/${index}`;
    const target = nearest(targets.tools, draft);
    if (!target) {
      problems.push(unresolved(pointer, 'tool', draft));
      continue;
    }
    problems.push(...toolProblems(pointer, draft, target), ...(await presetProblems(pointer, { draft, target }, checks)));
    if (bindings.some((other) => other.id === target.id || other.slug === target.slug)) {
      problems.push(
        atCreate(pointer, { rule: 'uniqueItems', message: 'A tool with this name is already bound.', params: { slug: target.slug } }),
      );
      continue;
    }
    bindings.push(completeBinding(draft, target));
  }
  return { bindings, problems };
}

/** Does the same for its toolkits. */
export function bindToolkits(
  drafts: readonly ToolkitDraft[],
  targets: RevisionTargets,
): { bindings: ToolkitBinding[]; problems: RevisionProblem[] } {
  const problems: RevisionProblem[] = [];
  const bindings: ToolkitBinding[] = [];
  for (const [index, draft] of drafts.entries()) {
    const pointer = `/toolkits/${index}`;
    const target = nearest(targets.toolkits, draft);
    if (!target) {
      problems.push(unresolved(pointer, 'toolkit', draft));
      continue;
    }
    if (bindings.some((other) => other.slug === target.slug)) {
      problems.push(
        atCreate(pointer, { rule: 'uniqueItems', message: 'A toolkit with this name is already bound.', params: { slug: target.slug } }),
      );
      continue;
    }
    const binding = completeToolkitBinding(draft, target);
    problems.push(...toolkitProblems(pointer, binding, target));
    bindings.push(binding);
  }
  return { bindings, problems };
}

function toolProblems(pointer: string, draft: ToolDraft, target: ToolTarget): RevisionProblem[] {
  const problems: RevisionProblem[] = [];
  const params = { kind: 'tool', slug: target.slug };
  if (draft.approval === 'never' && target.critical)
    problems.push(atCreate(`${pointer}/approval`, { rule: 'critical', message: 'A critical tool always requires approval.' }));
  if (typeof draft.timeout_s === 'number' && draft.timeout_s > target.timeout_s) {
    problems.push(
      atCreate(`${pointer}/timeout_s`, {
        rule: 'maximum',
        message: 'A binding can only lower the timeout of the tool.',
        params: { limit: target.timeout_s },
      }),
    );
  }
  if (draft.preset !== undefined && Buffer.byteLength(JSON.stringify(draft.preset)) > 8_192)
    problems.push(atCreate(`${pointer}/preset`, { rule: 'maxLength', message: 'Must be at most 8 KiB.' }));
  if (target.input_schema.additionalProperties === false) {
    const unknown = Object.keys(draft.preset ?? {}).filter((name) => !Object.hasOwn(target.input_schema.properties ?? {}, name));
    for (const field of unknown)
      problems.push(atCreate(`${pointer}/preset`, { rule: 'unknown_field', message: 'The tool has no such argument.', params: { field } }));
  }
  if (!target.is_active) problems.push(atActivation(pointer, { rule: 'inactive', message: 'The tool is not active.', params }));
  if (target.is_quarantined) problems.push(atActivation(pointer, { rule: 'quarantined', message: 'The tool is quarantined.', params }));
  return problems;
}

/** Presets are only a part of the arguments, so they are checked against the schema's rules for each argument, not against those for all arguments. */
const argumentKeywords = [
  '$schema',
  'properties',
  'patternProperties',
  'additionalProperties',
  'propertyNames',
  '$defs',
  'definitions',
] as const;

async function presetProblems(
  pointer: string,
  { draft, target }: { readonly draft: ToolDraft; readonly target: ToolTarget },
  checks: RevisionChecks,
): Promise<RevisionProblem[]> {
  if (Object.keys(draft.preset ?? {}).length === 0) return [];
  const whole: Readonly<Record<string, unknown>> = target.input_schema;
  // Unknown arguments of a closed schema are already reported by name.
  const kept = argumentKeywords.filter((name) => whole[name] !== undefined && whole[name] !== false);
  const schema = { type: 'object', ...Object.fromEntries(kept.map((name) => [name, whole[name]])) };
  const problems = await checks.schema(schema, draft.preset);
  return problems.map(({ pointer: at, rule, message }) => atCreate(`${pointer}/preset${at}`, { rule, message }));
}

function toolkitProblems(pointer: string, binding: ToolkitBinding, target: ToolkitTarget): RevisionProblem[] {
  const params = { kind: 'toolkit', slug: target.slug };
  const wanted = binding.revision === 'active' ? target.active_revision_id : binding.revision;
  const revision = target.revisions.find(({ id }) => id === wanted);
  if (!revision && binding.revision !== 'active')
    return [
      atCreate(`${pointer}/revision`, {
        rule: 'reference',
        message: 'The toolkit has no such revision.',
        params: { ...params, kind: 'toolkit_revision' },
      }),
    ];

  const problems: RevisionProblem[] = [];
  if (!target.is_active) problems.push(atActivation(pointer, { rule: 'inactive', message: 'The toolkit is not active.', params }));
  if (!revision) return [...problems, atActivation(pointer, { rule: 'inactive', message: 'The toolkit has no active revision.', params })];
  if (revision.state !== 'active' && revision.state !== 'superseded')
    problems.push(
      atActivation(`${pointer}/revision`, { rule: 'inactive', message: 'The revision of the toolkit was never activated.', params }),
    );
  for (const list of ['include', 'exclude'] as const) {
    const unknown = binding[list].filter((name) => !revision.names.includes(name));
    for (const name of unknown)
      problems.push(
        atRun(`${pointer}/${list}`, {
          rule: 'reference',
          message: 'The toolkit has no tool of this name.',
          params: { kind: 'tool', name },
        }),
      );
  }
  return problems;
}
