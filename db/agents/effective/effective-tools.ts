import type { ToolKind } from '../../../workflows/contracts/runs/runs.ts';
import type { ResolvedBindings, BoundTool } from './bound-rows.ts';
import type { EffectiveWarning } from './effective.ts';
import { delegateOf, type PinnedDelegate } from './delegate-target.ts';
import type { PersonaDocument } from '../personas/persona-document.ts';
import type { RevisionDocument, ToolApproval } from '../revisions/revision-document.ts';

/** Whether a call needs an approval, why, and which role may decide. */
export interface EffectiveApproval {
  readonly required: boolean;
  /** `first`: once per run and tool. */
  readonly reason: 'critical' | 'binding' | 'first' | 'effect' | null;
  readonly floor: 'member' | 'admin';
}

/** A tool as a run would use it. Description, schema and secrets are set only when requested. */
export interface EffectiveTool {
  readonly name: string;
  /** Null for a tool that the platform itself adds. */
  readonly tool_id: string | null;
  readonly version: number;
  readonly toolkit_revision_id: string | null;
  readonly kind: ToolKind;
  readonly description: string;
  readonly input_schema: Readonly<Record<string, unknown>>;
  readonly effect: 'read' | 'write';
  readonly critical: boolean;
  readonly concurrency: 'read' | 'write' | 'exclusive';
  readonly client_owned: boolean;
  readonly approval: EffectiveApproval;
  readonly timeout_s: number;
  readonly response_max_chars: number;
  readonly secrets_missing: readonly string[];
  readonly max_calls: number | null;
  readonly preset: Readonly<Record<string, unknown>>;
  /** The author's own description; null uses the tool's. */
  readonly own_description: string | null;
  readonly own_timeout_s: number | null;
  /** Effects for which a call would need an approval, if the tool ever gets them. */
  readonly asks: readonly ('read' | 'write')[];
  /** The agent that it calls; null: it starts no run. */
  readonly delegate: PinnedDelegate | null;
}

interface Binding {
  readonly approval: ToolApproval;
  readonly max_calls: number | null;
  readonly timeout_s: number | null;
  readonly preset: Readonly<Record<string, unknown>>;
  readonly description: string | null;
}

interface ToolSource {
  readonly document: RevisionDocument;
  readonly persona: Pick<PersonaDocument, 'tools_allow'> | null;
  readonly bound: ResolvedBindings;
}

/** Returns the tools of a configuration in the order of the revision, toolkits after single tools, with a warning for each that is omitted. */
export function effectiveTools(source: ToolSource): { tools: EffectiveTool[]; warnings: EffectiveWarning[] } {
  const warnings: EffectiveWarning[] = [];
  const tools = new Map<string, EffectiveTool>();
  const allowed = source.persona?.tools_allow ?? null;
  const add = (tool: BoundTool, binding: Binding, pointer: string) => {
    if (allowed !== null && !allowed.includes(tool.slug)) return;
    const bound = tools.get(tool.slug);
    // A directly bound tool comes first and keeps its own limits, but an approval that either binding requires applies.
    if (bound === undefined) tools.set(tool.slug, toEffective(tool, binding, source));
    else if (bound.tool_id === tool.id) tools.set(tool.slug, stricter(bound, toEffective(tool, binding, source)));
    else warnings.push(leftOut(pointer, 'tool', { slug: tool.slug, why: 'has the name of another tool' }));
  };

  for (const [index, binding] of source.document.tools.entries()) {
    const tool = source.bound.tools.find(({ id }) => id === binding.id);
    const why = tool === undefined ? 'is gone' : stopOf(tool, source.bound);
    if (tool !== undefined && why === null) add(tool, binding, `/tools/${index}`);
    else warnings.push(leftOut(`/tools/${index}`, 'tool', { slug: binding.slug, why: why ?? 'is gone' }));
  }
  for (const [index] of source.document.toolkits.entries()) addToolkit(source, index, { add, warnings });
  return { tools: [...tools.values()], warnings };
}

function addToolkit(
  { document, bound }: ToolSource,
  index: number,
  { add, warnings }: { readonly add: (tool: BoundTool, binding: Binding, pointer: string) => void; readonly warnings: EffectiveWarning[] },
): void {
  const binding = document.toolkits[index];
  if (!binding) return;
  const toolkit = bound.toolkits.find(({ id }) => id === binding.id);
  const pointer = `/toolkits/${index}`;
  if (!toolkit?.is_active || (binding.revision === 'active' && toolkit.active_revision_id === null)) {
    warnings.push(leftOut(pointer, 'toolkit', { slug: binding.slug, why: 'is not active' }));
    return;
  }
  const members = bound.tools
    .filter(({ toolkit_id: toolkitId }) => toolkitId === toolkit.id)
    .toSorted((left, right) => (left.slug < right.slug ? -1 : 1));
  for (const name of binding.include) {
    if (members.some((tool) => (tool.remote_name ?? tool.slug) === name)) continue;
    warnings.push(leftOut(pointer, 'tool', { slug: name, why: 'is gone' }));
  }
  for (const tool of members) {
    const name = tool.remote_name ?? tool.slug;
    if ((binding.include.length > 0 && !binding.include.includes(name)) || binding.exclude.includes(name)) continue;
    const why = stopOf(tool, bound);
    const unbounded = { approval: binding.approval, max_calls: null, timeout_s: null, preset: {}, description: null };
    if (why === null) add(tool, unbounded, pointer);
    else if (why !== 'is not active' || binding.include.includes(name)) warnings.push(leftOut(pointer, 'tool', { slug: tool.slug, why }));
  }
}

function stopOf(tool: BoundTool, bound: ResolvedBindings): string | null {
  if (!tool.is_active) return 'is not active';
  if (tool.descriptor.kind === 'delegate' && delegateOf(tool.descriptor.config, bound) === null) return 'asks an agent that is not active';
  return tool.is_quarantined ? 'is quarantined' : null;
}

function toEffective(tool: BoundTool, binding: Binding, { document, bound }: ToolSource): EffectiveTool {
  const { descriptor } = tool;
  const critical = tool.is_critical || descriptor.critical === true;
  return {
    name: tool.slug,
    tool_id: tool.id,
    version: tool.version,
    toolkit_revision_id: tool.toolkit_revision_id,
    kind: descriptor.kind,
    description: binding.description ?? descriptor.description ?? '',
    input_schema: schemaWithoutPreset(descriptor.input_schema ?? {}, Object.keys(binding.preset)),
    effect: descriptor.effect,
    critical,
    concurrency: descriptor.concurrency,
    client_owned: descriptor.client_owned === true,
    approval: approvalOf({ critical, effect: descriptor.effect, approval: binding.approval }, document),
    timeout_s: Math.min(descriptor.timeout_s, binding.timeout_s ?? descriptor.timeout_s),
    response_max_chars: descriptor.response_max_chars,
    secrets_missing: tool.secrets_missing,
    max_calls: binding.max_calls,
    preset: binding.preset,
    own_description: binding.description,
    own_timeout_s: binding.timeout_s,
    asks: binding.approval === 'default' ? (['read', 'write'] as const).filter((effect) => document.approvals[effect] === 'ask') : [],
    delegate: descriptor.kind === 'delegate' ? delegateOf(descriptor.config, bound) : null,
  };
}

/** Decides the approval: a critical tool always needs one, by an admin; else the binding decides; else the revision's rule for the effect. */
export function approvalOf(
  { critical, effect, approval }: { readonly critical: boolean; readonly effect: 'read' | 'write'; readonly approval: ToolApproval },
  { approvals }: Pick<RevisionDocument, 'approvals'>,
): EffectiveApproval {
  const floor = approvals.approver_floor;
  if (critical) return { required: true, reason: 'critical', floor: 'admin' };
  if (approval === 'always') return { required: true, reason: 'binding', floor };
  if (approval === 'first') return { required: true, reason: 'first', floor };
  if (approval === 'default' && approvals[effect] === 'ask') return { required: true, reason: 'effect', floor };
  return { required: false, reason: null, floor };
}

/** From the strictest: an approval of every call, of the first call only, of none. */
const byStrictness: readonly EffectiveApproval['reason'][] = ['critical', 'binding', 'effect', 'first', null];

/** Returns the tool with the stricter of its own approval and that of another tool or binding through which the model could make the same call. */
export function stricter(tool: EffectiveTool, other: Pick<EffectiveTool, 'approval' | 'asks'>): EffectiveTool {
  const isOther = byStrictness.indexOf(other.approval.reason) < byStrictness.indexOf(tool.approval.reason);
  return {
    ...tool,
    approval: isOther ? other.approval : tool.approval,
    asks: (['read', 'write'] as const).filter((effect) => tool.asks.includes(effect) || other.asks.includes(effect)),
  };
}

/** Returns the schema that the model sees, without the fields that the author has preset. */
export function schemaWithoutPreset(
  schema: Readonly<Record<string, unknown>>,
  preset: readonly string[],
): Readonly<Record<string, unknown>> {
  const { properties, required } = schema;
  if (preset.length === 0 || properties === null || typeof properties !== 'object') return schema;
  const left = Object.fromEntries(Object.entries(properties).filter(([name]) => !preset.includes(name)));
  const needed = Array.isArray(required) ? { required: required.filter((name) => !preset.includes(String(name))) } : {};
  return { ...schema, properties: left, ...needed };
}

function leftOut(pointer: string, kind: string, { slug, why }: { readonly slug: string; readonly why: string }): EffectiveWarning {
  return { pointer, rule: 'left_out', message: `the ${kind} ${slug} ${why} and is left out`, params: { kind, slug } };
}
