import type { Scope } from '../../../workflows/contracts/access.ts';
import { completeLimits, type RevisionLimits } from './revision-limits.ts';

export type { RevisionLimits } from './revision-limits.ts';

export const reasoningEfforts = ['provider-default', 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type ReasoningEffort = (typeof reasoningEfforts)[number];

export const toolApprovals = ['default', 'always', 'never', 'first'] as const;
export type ToolApproval = (typeof toolApprovals)[number];

export const skillModes = ['on_demand', 'always'] as const;
export const historyModes = ['none', 'summary'] as const;
export const knowledgeAccesses = ['read', 'write'] as const;
export const knowledgeModes = ['tool', 'inject', 'both'] as const;
export const approvalRules = ['auto', 'ask'] as const;
export const approverFloors = ['member', 'admin'] as const;
export const overflowRules = ['summarize', 'drop_oldest', 'fail'] as const;

/** Newest form of a revision document; older ones are upgraded, newer ones refused. */
export const documentSchemaVersion = 1;

/** Maximum bytes of a document's canonical JSON. */
export const maxDocumentBytes = 256 * 1024;

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

/** A tool as a revision binds it; a stored binding contains id, slug and scope of its target. */
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

/** The target to which a reference was resolved. */
export interface ResolvedRef {
  readonly id: string;
  readonly slug: string;
  readonly scope: Scope;
}

/** The tools of one revision of a toolkit: the revision `active` when a run begins, or one by its id. */
export interface ToolkitBinding extends ResolvedRef {
  readonly revision: string;
  /** Remote names; empty takes all. */
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  readonly approval: ToolApproval;
}

export interface SkillBinding extends ResolvedRef {
  /** Null: the version that is promoted when a run begins. */
  readonly version: number | null;
  readonly mode: (typeof skillModes)[number];
}

export interface SubAgentBinding extends ResolvedRef {
  /** `active` or the id of a revision. */
  readonly revision: string;
  readonly persona_slug: string | null;
  readonly description: string | null;
  readonly history: (typeof historyModes)[number];
  readonly max_calls: number | null;
  /** Decimal string. */
  readonly max_cost: string | null;
}

export interface KnowledgeBinding extends ResolvedRef {
  readonly access: (typeof knowledgeAccesses)[number];
  readonly mode: (typeof knowledgeModes)[number];
  readonly top_k: number;
}

/** Whether calls need an approval, by effect, and which role may decide. */
export interface ApprovalRules {
  readonly read: (typeof approvalRules)[number];
  readonly write: (typeof approvalRules)[number];
  readonly approver_floor: (typeof approverFloors)[number];
}

/** How much of a conversation the model sees. */
export interface ContextRules {
  readonly max_input_tokens: number | null;
  readonly keep_last_turns: number;
  readonly on_overflow: (typeof overflowRules)[number];
}

export interface ResponseFormat {
  readonly type: 'text' | 'json';
  readonly name: string | null;
  readonly schema: Readonly<Record<string, unknown>> | null;
  readonly strict: boolean;
}

/**
 * The immutable description of an agent as it is stored: complete, with defaults and resolved references. Its fields have their wire names, because it is
 * shown as is.
 */
export interface RevisionDocument {
  readonly schema_version: typeof documentSchemaVersion;
  readonly model: string | null;
  readonly fallback_models: readonly string[];
  readonly instructions: string;
  readonly variables: readonly RevisionVariable[];
  readonly model_settings: ModelSettings;
  readonly response_format: ResponseFormat;
  readonly tools: readonly ToolBinding[];
  readonly toolkits: readonly ToolkitBinding[];
  readonly skills: readonly SkillBinding[];
  readonly sub_agents: readonly SubAgentBinding[];
  readonly knowledge: readonly KnowledgeBinding[];
  readonly approvals: ApprovalRules;
  readonly context: ContextRules;
  readonly limits: RevisionLimits;
  /** JSON Schema of the structured input that the agent takes as a delegate; null: it takes text. */
  readonly input_schema: Readonly<Record<string, unknown>> | null;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** A reference as an author writes it: by id, or by slug (in a scope, else the nearest). */
export interface Ref {
  readonly id?: string;
  readonly slug?: string;
  readonly scope?: Scope | null;
}

/** A binding as an author writes it: a reference, and the fields that don't take their defaults. */
export type BindingDraft<B extends ResolvedRef> = Ref & Partial<Omit<B, keyof ResolvedRef>>;

export type ToolBindingDraft = BindingDraft<ToolBinding>;
type VariableDraft = Partial<RevisionVariable> & Pick<RevisionVariable, 'name'>;

/** A document as an author sends it: every field may be missing, and references are not resolved yet. */
export interface RevisionDraft {
  readonly schema_version?: number;
  readonly model?: string | null;
  readonly fallback_models?: readonly string[];
  readonly instructions?: string;
  readonly variables?: readonly VariableDraft[];
  readonly model_settings?: Partial<ModelSettings>;
  readonly response_format?: Partial<ResponseFormat>;
  readonly tools?: readonly ToolBindingDraft[];
  readonly toolkits?: readonly BindingDraft<ToolkitBinding>[];
  readonly skills?: readonly BindingDraft<SkillBinding>[];
  readonly sub_agents?: readonly BindingDraft<SubAgentBinding>[];
  readonly knowledge?: readonly BindingDraft<KnowledgeBinding>[];
  readonly approvals?: Partial<ApprovalRules>;
  readonly context?: Partial<ContextRules>;
  readonly input_schema?: Readonly<Record<string, unknown>> | null;
  readonly limits?: Partial<RevisionLimits>;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** The bindings of a document with their targets resolved. */
export interface DocumentBindings {
  readonly tools: readonly ToolBinding[];
  readonly toolkits: readonly ToolkitBinding[];
  readonly skills: readonly SkillBinding[];
  readonly sub_agents: readonly SubAgentBinding[];
  readonly knowledge: readonly KnowledgeBinding[];
}

export const noBindings: DocumentBindings = { tools: [], toolkits: [], skills: [], sub_agents: [], knowledge: [] };

/** Returns the complete document of a draft. */
export function completeDocument(draft: RevisionDraft, bindings: DocumentBindings): RevisionDocument {
  return {
    schema_version: documentSchemaVersion,
    model: draft.model ?? null,
    fallback_models: draft.fallback_models ?? [],
    instructions: draft.instructions ?? '',
    variables: (draft.variables ?? []).map(completeVariable),
    model_settings: completeSettings(draft.model_settings ?? {}),
    response_format: completeFormat(draft.response_format ?? {}),
    tools: bindings.tools,
    toolkits: bindings.toolkits,
    skills: bindings.skills,
    sub_agents: bindings.sub_agents,
    knowledge: bindings.knowledge,
    approvals: {
      read: draft.approvals?.read ?? 'auto',
      write: draft.approvals?.write ?? 'auto',
      approver_floor: draft.approvals?.approver_floor ?? 'member',
    },
    context: {
      max_input_tokens: draft.context?.max_input_tokens ?? null,
      keep_last_turns: draft.context?.keep_last_turns ?? 20,
      on_overflow: draft.context?.on_overflow ?? 'summarize',
    },
    limits: completeLimits(draft.limits ?? {}),
    input_schema: draft.input_schema ?? null,
    metadata: draft.metadata ?? {},
  };
}

/** Returns the complete binding of a tool with its target. */
export function completeBinding(draft: ToolBindingDraft, target: ResolvedRef): ToolBinding {
  return {
    ...refOf(target),
    approval: draft.approval ?? 'default',
    max_calls: draft.max_calls ?? null,
    timeout_s: draft.timeout_s ?? null,
    preset: draft.preset ?? {},
    description: draft.description ?? null,
  };
}

export function completeToolkitBinding(draft: BindingDraft<ToolkitBinding>, target: ResolvedRef): ToolkitBinding {
  return {
    ...refOf(target),
    revision: draft.revision ?? 'active',
    include: draft.include ?? [],
    exclude: draft.exclude ?? [],
    approval: draft.approval ?? 'default',
  };
}

export function completeSkillBinding(draft: BindingDraft<SkillBinding>, target: ResolvedRef): SkillBinding {
  return { ...refOf(target), version: draft.version ?? null, mode: draft.mode ?? 'on_demand' };
}

export function completeKnowledgeBinding(draft: BindingDraft<KnowledgeBinding>, target: ResolvedRef): KnowledgeBinding {
  return { ...refOf(target), access: draft.access ?? 'read', mode: draft.mode ?? 'tool', top_k: draft.top_k ?? 5 };
}

export function completeSubAgentBinding(draft: BindingDraft<SubAgentBinding>, target: ResolvedRef): SubAgentBinding {
  return {
    ...refOf(target),
    revision: draft.revision ?? 'active',
    persona_slug: draft.persona_slug ?? null,
    description: draft.description ?? null,
    history: draft.history ?? 'none',
    max_calls: draft.max_calls ?? null,
    max_cost: draft.max_cost ?? null,
  };
}

function refOf({ id, slug, scope }: ResolvedRef): ResolvedRef {
  return { id, slug, scope };
}

function completeFormat(draft: Partial<ResponseFormat>): ResponseFormat {
  return { type: draft.type ?? 'text', name: draft.name ?? null, schema: draft.schema ?? null, strict: draft.strict ?? false };
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
