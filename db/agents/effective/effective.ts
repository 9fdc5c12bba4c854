import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { ResolvedBindings } from './bound-rows.ts';
import { effectiveSubAgents, sameAgents } from './effective-delegates.ts';
import { effectiveTools, type EffectiveTool } from './effective-tools.ts';
import { instructionsTemplate, roughTokens } from './instructions.ts';
import type { PersonaDocument } from '../personas/persona-document.ts';
import type {
  ApprovalRules,
  ContextRules,
  KnowledgeBinding,
  ModelSettings,
  ResponseFormat,
  RevisionDocument,
  RevisionLimits,
  SubAgentBinding,
} from '../revisions/revision-document.ts';
import { narrowedLimits } from '../revisions/revision-limits.ts';
import { dialectOf, unknownDialect } from '../../../workflows/contracts/tools/schema-dialect.ts';
import { knowledgeSearchTool, knowledgeWriteTool, skillLoadTool } from './own-tools.ts';

/** What the deployment knows of a model; the registry's entries have this shape. */
export interface EffectiveModel {
  readonly id: string;
  readonly provider: string;
  readonly contextWindow: number;
  readonly capabilities: {
    readonly tools: boolean;
    readonly parallelTools: boolean;
    readonly json: 'native' | 'tool' | 'prompt';
    readonly reasoning: boolean;
    readonly image: boolean;
    readonly pdf: boolean;
    readonly audio: boolean;
  };
}

/** The first layer. Passing null selects the default model; it returns null for a model that the deployment cannot call. */
export interface Deployment {
  readonly model: (name: string | null) => EffectiveModel | null;
}

/** Something that a run has to do without. */
export interface EffectiveWarning {
  readonly pointer: string;
  readonly rule: string;
  readonly message: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

export interface EffectiveSkill {
  readonly skill_id: string;
  readonly slug: string;
  readonly version: number;
  readonly description: string;
  readonly mode: 'on_demand' | 'always';
  readonly tokens: number;
  /** Set for `always` skills, when texts are requested. */
  readonly text: string | null;
}

export interface EffectiveSubAgent extends Omit<SubAgentBinding, 'id' | 'scope' | 'revision'> {
  readonly agent_id: string;
  readonly revision_id: string;
  /** The name of the tool by which the model calls it. */
  readonly tool_name: string;
}

/** All layers of one run, already read: the input of `effectiveConfiguration`. */
export interface EffectiveSource {
  readonly document: RevisionDocument;
  readonly persona: PersonaDocument | null;
  readonly bound: ResolvedBindings;
  /** The limits that a run requests; they only narrow. */
  readonly limits?: Partial<RevisionLimits>;
}

/** Everything that a run would use. */
export interface EffectiveConfiguration {
  /** Null when the deployment cannot call it. */
  readonly model: EffectiveModel | null;
  /** Registry ids: the model, then its fallbacks. */
  readonly models: readonly string[];
  readonly model_settings: ModelSettings;
  /** Template of the system prompt, without the skills. */
  readonly instructions: string;
  readonly response_format: ResponseFormat;
  readonly tools: readonly EffectiveTool[];
  readonly skills: readonly EffectiveSkill[];
  readonly sub_agents: readonly EffectiveSubAgent[];
  readonly knowledge: readonly KnowledgeBinding[];
  readonly approvals: ApprovalRules;
  readonly context: ContextRules;
  readonly limits: RevisionLimits;
  readonly warnings: readonly EffectiveWarning[];
}

/**
 * The one effective configuration: deployment, workspace (which sets none of it yet), revision, persona and run, each layer over the previous one; the last
 * two only narrow tools and limits. Pure: the result depends only on the arguments. GET effective shows it, beginRun pins it.
 */
export function effectiveConfiguration(deployment: Deployment, source: EffectiveSource): EffectiveConfiguration {
  const { document, persona } = source;
  const model = deployment.model(persona?.model ?? document.model);
  const fallbacks = document.fallback_models.flatMap((name) => deployment.model(name)?.id ?? []);
  const bound = effectiveTools(source);
  const skills = effectiveSkills(source);
  const agents = effectiveSubAgents(source, bound.tools);
  const loads = skills.skills.some(({ mode }) => mode === 'on_demand');
  const knowledge = knowledgeOf(document, persona);
  const wanted = [...(loads ? [skillLoadTool] : []), ...knowledgeTools(document, knowledge)];
  const own = wanted.filter((tool) => !bound.tools.some(({ name }) => name === tool.name));
  const tools = [...sameAgents([...bound.tools, ...agents.tools]), ...own];

  return {
    model,
    models: model ? [...new Set([model.id, ...fallbacks])] : [],
    model_settings: { ...document.model_settings, ...persona?.model_settings },
    instructions: instructionsTemplate(document, persona),
    response_format: document.response_format,
    tools,
    skills: skills.skills,
    sub_agents: agents.sub_agents,
    knowledge,
    approvals: document.approvals,
    context: document.context,
    limits: narrowedLimits(document.limits, source.limits ?? {}),
    warnings: [...bound.warnings, ...skills.warnings, ...agents.warnings, ...tools.flatMap(toolWarnings), ...modelWarnings(model, tools)],
  };
}

/** Returns the tools that need no binding: one that searches the bases bound for searching, and one that writes to the bases bound for writing. */
function knowledgeTools(document: RevisionDocument, knowledge: readonly KnowledgeBinding[]): EffectiveTool[] {
  const searches = knowledge.some(({ mode }) => mode !== 'inject');
  const writes = knowledge.some(({ access }) => access === 'write');
  return [...(searches ? [knowledgeSearchTool] : []), ...(writes ? [knowledgeWriteTool(document)] : [])];
}

/** Returns the bases of the revision and of the persona; for a base in both, the persona's binding applies. */
function knowledgeOf({ knowledge }: RevisionDocument, persona: PersonaDocument | null): KnowledgeBinding[] {
  const beside = persona?.knowledge ?? [];
  return [...knowledge.filter(({ id }) => !beside.some((other) => other.id === id)), ...beside];
}

/** Returns the SHA-256 of a configuration's canonical JSON (RFC 8785), in hexadecimal; versions stand for descriptions, schemas and texts. */
export function hashOfConfiguration({ warnings: _warnings, tools, skills, ...configuration }: EffectiveConfiguration): string {
  const stable = {
    ...configuration,
    tools: tools.map(({ description: _d, input_schema: _s, secrets_missing: _m, ...tool }) => tool),
    skills: skills.map(({ text: _text, ...skill }) => skill),
  };
  return createHash('sha256')
    .update(canonicalize(stable) ?? '')
    .digest('hex');
}

/** Warns about tools that the model cannot call: a persona may name a model with fewer capabilities than the revision needs. */
function modelWarnings(model: EffectiveModel | null, tools: readonly EffectiveTool[]): EffectiveWarning[] {
  if (model === null || model.capabilities.tools || tools.length === 0) return [];
  const message = `the model ${model.id} can not call tools, and all are left out`;
  return [{ pointer: '/model', rule: 'capability', message, params: { capability: 'tools' } }];
}

function toolWarnings(tool: EffectiveTool): EffectiveWarning[] {
  const params = { kind: 'tool', slug: tool.name };
  const dialect = dialectOf(tool.input_schema).isUnknown
    ? [{ pointer: '/tools', rule: '$schema', message: `the input schema of the tool ${tool.name}: ${unknownDialect}`, params }]
    : [];
  if (tool.secrets_missing.length === 0) return dialect;
  const names = tool.secrets_missing.join(', ');
  return [
    ...dialect,
    {
      pointer: '/tools',
      rule: 'secret_missing',
      message: `the tool ${tool.name} lacks values of secrets: ${names}`.slice(0, 1_000),
      params: { ...params, secrets: tool.secrets_missing },
    },
  ];
}

function effectiveSkills({ document, bound }: EffectiveSource): { skills: EffectiveSkill[]; warnings: EffectiveWarning[] } {
  const skills: EffectiveSkill[] = [];
  const warnings: EffectiveWarning[] = [];
  for (const [index, binding] of document.skills.entries()) {
    const found = bound.skills.find(({ id }) => id === binding.id);
    if (!found || found.version === null || found.description === null) {
      warnings.push({
        pointer: `/skills/${index}`,
        rule: 'left_out',
        message: `nothing of the skill ${binding.slug} can be loaded and it is left out`,
        params: { kind: 'skill', slug: binding.slug },
      });
      continue;
    }
    // Two superseded skills may have one successor.
    if (skills.some(({ skill_id: id }) => id === found.skill_id)) continue;
    skills.push({
      skill_id: found.skill_id,
      slug: found.slug,
      version: found.version,
      description: found.description,
      mode: binding.mode,
      tokens: Math.ceil((found.chars ?? 0) / 4),
      text: found.instructions,
    });
  }
  return { skills, warnings };
}

/** Returns the tokens that every model call of a run carries besides the conversation: the system prompt and the tools. */
export function promptTokens(systemPrompt: string, tools: readonly EffectiveTool[]): number {
  const described = tools.map((tool) => tool.name + tool.description + JSON.stringify(tool.input_schema));
  return roughTokens(systemPrompt) + described.reduce((sum, text) => sum + roughTokens(text), 0);
}
