import type { LineDiff } from '../../ports/diff/compare-lines.ts';
import Type, { type Static, type TSchema } from 'typebox';
import type { EffectiveConfiguration, EffectiveSkill, EffectiveSubAgent, EffectiveWarning } from '../../db/agents/effective/effective.ts';
import type { EffectiveTool } from '../../db/agents/effective/effective-tools.ts';
import type { RevisionDiff } from '../../domain/agents/revision-diff.ts';
import type { RevisionProblem } from '../../domain/agents/revision-problems.ts';
import { toolKinds } from '../../workflows/contracts/runs/runs.ts';
import { closed, FreeObject, idOf, integer, listOf, nullable, oneOf, text } from '../http/input/schema.ts';
import { KnowledgeBinding, ModelSettings, RevisionDocument, RevisionLimits } from './revision.schema.ts';

export const EffectiveQuery = closed({
  revision_id: Type.Optional(idOf('AgentRevision', 'A revision of the agent; defaults to the active one, otherwise the newest')),
  persona_slug: Type.Optional(text(200, { minLength: 1, description: 'A persona of the agent; defaults to its default persona' })),
});
export const DiffQuery = closed({
  against: Type.Optional(idOf('AgentRevision', 'The revision to compare with; defaults to the active one')),
});

// A shared component has no default; in the document, the field has one.
const asInDocument = <S extends TSchema>(schema: S) => ({ ...schema, default: {} });
const Pointer = text(4_000, { description: 'JSON pointer into the document' });

const Approval = closed(
  {
    required: Type.Boolean(),
    reason: nullable(oneOf(['critical', 'binding', 'first', 'effect'], { description: 'first asks only once per run and tool' })),
    floor: oneOf(['member', 'admin']),
  },
  { $id: 'EffectiveApproval', description: 'Whether a call waits for a person, why, and who can answer' },
);

const Tool = closed(
  {
    name: text(200),
    tool_id: nullable(idOf('Tool')),
    toolkit_revision_id: nullable(idOf('ToolkitRevision')),
    kind: oneOf(toolKinds),
    description: text(8_192),
    input_schema: FreeObject,
    effect: oneOf(['read', 'write']),
    critical: Type.Boolean(),
    concurrency: oneOf(['read', 'write', 'exclusive']),
    client_owned: Type.Boolean(),
    approval: Approval,
    timeout_s: integer({ minimum: 1, maximum: 86_400 }),
    response_max_chars: integer({ minimum: 100, maximum: 200_000 }),
    secrets_missing: listOf(text(100), { maxItems: 50 }),
  },
  { $id: 'EffectiveTool', description: 'A tool as a run would use it, with the schema that the model sees' },
);

const Skill = closed(
  {
    slug: text(64),
    version: integer({ minimum: 1 }),
    mode: oneOf(['on_demand', 'always']),
    tokens: integer({ description: 'Estimated' }),
  },
  { $id: 'EffectiveSkill' },
);

const SubAgent = closed(
  {
    agent_id: idOf('Agent'),
    revision_id: idOf('AgentRevision'),
    slug: text(200),
    tool_name: text(64, { description: 'The name by which the model calls it' }),
    persona_slug: nullable(text(200)),
    description: nullable(text(2_000)),
    history: oneOf(['none', 'summary']),
    max_calls: nullable(integer({ minimum: 1, maximum: 1_000 })),
    max_cost: nullable(text(40)),
  },
  { $id: 'EffectiveSubAgent' },
);

const Model = closed(
  {
    id: text(200),
    provider: text(60),
    capabilities: closed(
      {
        tools: Type.Boolean(),
        parallel_tools: Type.Boolean(),
        json: oneOf(['native', 'tool', 'prompt']),
        reasoning: Type.Boolean(),
        image: Type.Boolean(),
        pdf: Type.Boolean(),
        audio: Type.Boolean(),
      },
      { $id: 'ModelCapabilities' },
    ),
    context_window: integer({ minimum: 1 }),
  },
  { $id: 'EffectiveModel' },
);

const Warning = closed(
  { pointer: Pointer, rule: text(60), message: text(1_000), params: Type.Optional(FreeObject) },
  { $id: 'EffectiveWarning', description: 'Something that a run would omit' },
);

export const EffectiveAgentView = closed(
  {
    agent_id: idOf('Agent'),
    revision_id: idOf('AgentRevision'),
    persona_slug: nullable(text(200)),
    hash: text(64, { description: 'SHA-256 of the canonical JSON of all versions and settings; equal in the manifest of a run' }),
    model: nullable(Model),
    model_settings: asInDocument(ModelSettings),
    instructions: text(8_388_608, { description: 'The system prompt, rendered with the defaults of the variables' }),
    tools: listOf(Tool, { maxItems: 4_000 }),
    skills: listOf(Skill, { maxItems: 64 }),
    sub_agents: listOf(SubAgent, { maxItems: 32 }),
    knowledge: listOf(KnowledgeBinding, { maxItems: 48 }),
    limits: asInDocument(RevisionLimits),
    warnings: listOf(Warning, { maxItems: 5_000 }),
  },
  { $id: 'EffectiveAgentView', description: 'What a run of the agent would use now' },
);

export const RevisionValidate = closed(
  {
    revision: RevisionDocument,
    persona_slug: Type.Optional(nullable(text(200, { minLength: 1 }))),
  },
  { $id: 'RevisionValidate' },
);

const Problem = closed(
  {
    severity: oneOf(['error', 'warning']),
    stage: oneOf(['create', 'activate', 'run'], { description: 'The step from which it matters' }),
    pointer: Pointer,
    rule: text(60),
    message: text(1_000),
    params: Type.Optional(FreeObject),
  },
  { $id: 'RevisionProblem' },
);

export const RevisionValidationView = closed(
  {
    valid: Type.Boolean({ description: 'Whether it could be stored and activated; warnings do not count' }),
    problems: listOf(Problem, { maxItems: 5_000 }),
    prompt_tokens_estimate: integer({ description: 'Tokens of system prompt and tools in each model call' }),
  },
  { $id: 'RevisionValidationView' },
);

const Side = (id: string) => closed({ id: idOf('AgentRevision'), number: integer({ minimum: 1 }) }, { $id: id });
const AnyJson = (description: string) => Type.Unsafe<unknown>({ description });

export const RevisionDiffView = closed(
  {
    base: Side('RevisionDiffBase'),
    target: Side('RevisionDiffTarget'),
    changes: listOf(
      closed(
        {
          pointer: text(4_000, { description: 'Pointer into the target document; for a removal, into the base' }),
          op: oneOf(['add', 'remove', 'replace']),
          before: AnyJson('Any JSON value; null for an addition'),
          after: AnyJson('Any JSON value; null for a removal'),
        },
        { $id: 'RevisionChange' },
      ),
      { maxItems: 1_000 },
    ),
    instructions_diff: nullable(text(400_000, { description: 'Unified diff' })),
    truncated: Type.Boolean(),
  },
  { $id: 'RevisionDiffView', description: 'The changes from base to target; bindings are matched by target, not by position' },
);

/** The wire form of a configuration; `instructions` is the whole system prompt. */
export function toEffectiveView(
  effective: EffectiveConfiguration,
  about: {
    readonly agentId: string;
    readonly revisionId: string;
    readonly personaSlug: string | null;
    readonly hash: string;
    readonly instructions: string;
  },
): Static<typeof EffectiveAgentView> {
  return {
    agent_id: about.agentId,
    revision_id: about.revisionId,
    persona_slug: about.personaSlug,
    hash: about.hash,
    model: toModelView(effective.model),
    // Stored settings are the wire form; their arrays are readonly in code only.
    model_settings: effective.model_settings as Static<typeof ModelSettings>,
    instructions: about.instructions,
    tools: effective.tools.map(toToolView),
    skills: effective.skills.map(toSkillView),
    sub_agents: effective.sub_agents.map(toSubAgentView),
    knowledge: [...effective.knowledge],
    limits: effective.limits,
    warnings: effective.warnings.map(toWarningView),
  };
}

function toModelView(model: EffectiveConfiguration['model']): Static<typeof Model> | null {
  if (model === null) return null;
  const { tools, parallelTools, json, reasoning, image, pdf, audio } = model.capabilities;
  return {
    id: model.id,
    provider: model.provider,
    capabilities: { tools, parallel_tools: parallelTools, json, reasoning, image, pdf, audio },
    context_window: model.contextWindow,
  };
}

function toToolView(tool: EffectiveTool): Static<typeof Tool> {
  return {
    name: tool.name,
    tool_id: tool.tool_id,
    toolkit_revision_id: tool.toolkit_revision_id,
    kind: tool.kind,
    description: tool.description,
    input_schema: { ...tool.input_schema },
    effect: tool.effect,
    critical: tool.critical,
    concurrency: tool.concurrency,
    client_owned: tool.client_owned,
    approval: { required: tool.approval.required, reason: tool.approval.reason, floor: tool.approval.floor },
    timeout_s: tool.timeout_s,
    response_max_chars: tool.response_max_chars,
    secrets_missing: [...tool.secrets_missing],
  };
}

function toSkillView(skill: EffectiveSkill): Static<typeof Skill> {
  return { slug: skill.slug, version: skill.version, mode: skill.mode, tokens: skill.tokens };
}

function toSubAgentView(agent: EffectiveSubAgent): Static<typeof SubAgent> {
  return {
    agent_id: agent.agent_id,
    revision_id: agent.revision_id,
    slug: agent.slug,
    tool_name: agent.tool_name,
    persona_slug: agent.persona_slug,
    description: agent.description,
    history: agent.history,
    max_calls: agent.max_calls,
    max_cost: agent.max_cost,
  };
}

function toWarningView({ pointer, rule, message, params }: EffectiveWarning): Static<typeof Warning> {
  return { pointer, rule, message, ...(params ? { params: { ...params } } : {}) };
}

/** The wire form of a problem. */
export function toProblemView({ severity, stage, pointer, rule, message, params }: RevisionProblem): Static<typeof Problem> {
  return { severity, stage, pointer, rule, message, ...(params ? { params } : {}) };
}

type SideOf = Static<ReturnType<typeof Side>>;

/** The wire form of a comparison; `lines` are those of the instructions. */
export function toDiffView(
  base: SideOf,
  target: SideOf,
  diff: RevisionDiff & { readonly lines: LineDiff },
): Static<typeof RevisionDiffView> {
  return {
    base: { id: base.id, number: base.number },
    target: { id: target.id, number: target.number },
    changes: diff.changes.map(({ pointer, op, before, after }) => ({ pointer, op, before, after })),
    instructions_diff: diff.lines.text,
    truncated: diff.truncated || diff.lines.isLeftOut,
  };
}
