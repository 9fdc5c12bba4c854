import type { Scope } from '../../workflows/contracts/access.ts';

export const reasoningEfforts = ['provider-default', 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type ReasoningEffort = (typeof reasoningEfforts)[number];

export const toolApprovals = ['default', 'never'] as const;
export type ToolApproval = (typeof toolApprovals)[number];

/** Newest form of a revision document; older ones are upgraded, newer ones refused. */
export const documentSchemaVersion = 1;

/** Bytes of canonical JSON that a document may hold. */
export const limitDocumentBytes = 256 * 1024;

export interface RevisionVariable {
  readonly name: string;
  readonly required: boolean;
  readonly default: string | null;
  readonly description: string | null;
}

export interface ModelSettings {
  readonly temperature: number | null;
  readonly top_p: number | null;
  readonly max_output_tokens: number | null;
  readonly stop: readonly string[];
  readonly seed: number | null;
  readonly reasoning: ReasoningEffort;
  readonly cache: 'auto' | 'off';
  readonly provider_options: Readonly<Record<string, unknown>>;
}

/** A tool as a revision binds it; a stored binding holds id, slug and scope of its target. */
export interface ToolBinding {
  readonly id: string;
  readonly slug: string;
  readonly scope: Scope;
  readonly approval: ToolApproval;
  readonly max_calls: number | null;
  readonly timeout_s: number | null;
  readonly preset: Readonly<Record<string, unknown>>;
  readonly description: string | null;
}

export interface RevisionLimits {
  readonly max_steps: number;
  readonly max_duration_s: number;
  readonly max_output_tokens: number | null;
  readonly max_tool_calls: number;
}

/** The immutable description of an agent as it is stored: complete, with defaults, references resolved. Wire names, because it is shown as it stands. */
export interface RevisionDocument {
  readonly schema_version: typeof documentSchemaVersion;
  readonly model: string | null;
  readonly fallback_models: readonly string[];
  readonly instructions: string;
  readonly variables: readonly RevisionVariable[];
  readonly model_settings: ModelSettings;
  readonly tools: readonly ToolBinding[];
  readonly limits: RevisionLimits;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** A reference as an author writes it: by id, or by slug (in a scope, else the nearest). */
export interface Ref {
  readonly id?: string;
  readonly slug?: string;
  readonly scope?: Scope | null;
}

export type ToolBindingDraft = Ref & Partial<Omit<ToolBinding, 'id' | 'slug' | 'scope'>>;
type VariableDraft = Partial<RevisionVariable> & Pick<RevisionVariable, 'name'>;

/** A document as an author sends it: every field may be missing, references are not resolved yet. */
export interface RevisionDraft {
  readonly schema_version?: number;
  readonly model?: string | null;
  readonly fallback_models?: readonly string[];
  readonly instructions?: string;
  readonly variables?: readonly VariableDraft[];
  readonly model_settings?: Partial<ModelSettings>;
  readonly tools?: readonly ToolBindingDraft[];
  readonly limits?: Partial<RevisionLimits>;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** The complete document of a draft; `tools` are its bindings with their targets filled in. */
export function completeDocument(draft: RevisionDraft, tools: readonly ToolBinding[]): RevisionDocument {
  return {
    schema_version: documentSchemaVersion,
    model: draft.model ?? null,
    fallback_models: draft.fallback_models ?? [],
    instructions: draft.instructions ?? '',
    variables: (draft.variables ?? []).map(completeVariable),
    model_settings: completeSettings(draft.model_settings ?? {}),
    tools,
    limits: completeLimits(draft.limits ?? {}),
    metadata: draft.metadata ?? {},
  };
}

/** A binding without its target. */
export function completeBinding(draft: ToolBindingDraft, target: Pick<ToolBinding, 'id' | 'slug' | 'scope'>): ToolBinding {
  return {
    id: target.id,
    slug: target.slug,
    scope: target.scope,
    approval: draft.approval ?? 'default',
    max_calls: draft.max_calls ?? null,
    timeout_s: draft.timeout_s ?? null,
    preset: draft.preset ?? {},
    description: draft.description ?? null,
  };
}

function completeVariable(draft: VariableDraft): RevisionVariable {
  return { name: draft.name, required: draft.required ?? false, default: draft.default ?? null, description: draft.description ?? null };
}

function completeSettings(draft: Partial<ModelSettings>): ModelSettings {
  return {
    temperature: draft.temperature ?? null,
    top_p: draft.top_p ?? null,
    max_output_tokens: draft.max_output_tokens ?? null,
    stop: draft.stop ?? [],
    seed: draft.seed ?? null,
    reasoning: draft.reasoning ?? 'provider-default',
    cache: draft.cache ?? 'auto',
    provider_options: draft.provider_options ?? {},
  };
}

function completeLimits(draft: Partial<RevisionLimits>): RevisionLimits {
  return {
    max_steps: draft.max_steps ?? 50,
    max_duration_s: draft.max_duration_s ?? 3_600,
    max_output_tokens: draft.max_output_tokens ?? null,
    max_tool_calls: draft.max_tool_calls ?? 200,
  };
}
