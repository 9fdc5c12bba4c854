import Type from 'typebox';
import {
  approvalRules,
  approverFloors,
  documentSchemaVersion,
  historyModes,
  knowledgeAccesses,
  knowledgeModes,
  overflowRules,
  reasoningEfforts,
  skillModes,
  toolApprovals,
  type RevisionDocument as StoredDocument,
  type RevisionDraft,
} from '../../db/agents/revisions/revision-document.ts';
import type { AgentRevisionRow } from '../../db/agents/revisions/revisions.ts';
import { iso } from '../../db/sql.ts';
import { scopes } from '../../workflows/contracts/access.ts';
import { ActorRef, Amount, closed, FreeObject, idOf, integer, listOf, nullable, oneOf, text, Timestamp } from '../http/input/schema.ts';

const defaulted = <S extends Parameters<typeof Type.Optional>[0]>(schema: S, value: unknown) =>
  Type.Optional({ ...schema, default: value });

export const ModelName = text(120, { minLength: 1, description: 'Id or alias of a model in the registry' });

/** Fields that replace those of the revision; omitted fields keep the revision's value. */
export const ModelSettingsOverride = closed(
  {
    temperature: Type.Optional(nullable(Type.Number({ minimum: 0, maximum: 2 }))),
    top_p: Type.Optional(nullable(Type.Number({ minimum: 0, maximum: 1 }))),
    max_output_tokens: Type.Optional(nullable(integer({ minimum: 1, maximum: 200_000 }))),
    stop: Type.Optional(listOf(text(100, { minLength: 1 }), { maxItems: 4 })),
    seed: Type.Optional(nullable(integer({ minimum: -(2 ** 31), maximum: 2 ** 31 - 1 }))),
    reasoning: Type.Optional(oneOf(reasoningEfforts)),
    cache: Type.Optional(oneOf(['auto', 'off'])),
    provider_options: Type.Optional(FreeObject),
  },
  { $id: 'ModelSettingsOverride', description: 'Parameters of model calls under a persona' },
);

const RevisionVariable = closed(
  {
    name: text(64, {
      minLength: 1,
      pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
      description: 'Name of the variable; templates read it as vars.name',
    }),
    required: defaulted(Type.Boolean({ description: 'Whether a run without a value for it is refused' }), false),
    default: defaulted(nullable(text(4_000)), null),
    description: defaulted(nullable(text(1_024)), null),
  },
  { $id: 'RevisionVariable', description: 'A variable of the instructions; a run supplies it as a field of its JSON input' },
);

export const ModelSettings = closed(
  {
    temperature: defaulted(nullable(Type.Number({ minimum: 0, maximum: 2 })), null),
    top_p: defaulted(nullable(Type.Number({ minimum: 0, maximum: 1 })), null),
    max_output_tokens: defaulted(nullable(integer({ minimum: 1, maximum: 200_000 })), null),
    stop: defaulted(listOf(text(100, { minLength: 1 }), { maxItems: 4 }), []),
    seed: defaulted(nullable(integer({ minimum: -(2 ** 31), maximum: 2 ** 31 - 1 })), null),
    reasoning: defaulted(oneOf(reasoningEfforts), 'provider-default'),
    cache: defaulted(oneOf(['auto', 'off']), 'auto'),
    provider_options: defaulted(FreeObject, {}),
  },
  { $id: 'ModelSettings', description: 'Parameters of model calls; null uses the defaults of the provider' },
);

const ToolBinding = closed(
  {
    id: Type.Optional(idOf('Tool', 'The tool; id or slug is required')),
    slug: Type.Optional(
      text(64, {
        minLength: 1,
        pattern: '^[a-z0-9][a-z0-9_-]*$',
        description: 'The nearest tool with this slug: workspace, then organization, then platform',
      }),
    ),
    scope: Type.Optional(nullable(oneOf(scopes, { description: 'Restricts the look-up by slug to one scope' }))),
    approval: defaulted(
      oneOf(toolApprovals, { description: 'When a person is asked for approval: default leaves it to the tool, never means no approval' }),
      'default',
    ),
    max_calls: defaulted(nullable(integer({ minimum: 1, maximum: 1_000, description: 'Maximum number of calls per run' })), null),
    timeout_s: defaulted(nullable(integer({ minimum: 1, maximum: 600, description: 'Lowers the timeout of the tool' })), null),
    preset: defaulted(FreeObject, {}),
    description: defaulted(nullable(text(1_024, { description: 'Shown to the model instead of the tool’s own' })), null),
  },
  { $id: 'ToolBinding', description: 'A tool that the agent can call; preset arguments are fixed by the author and hidden from the model' },
);

/** Fields of a reference: id or slug is required. */
const refTo = (resource: Parameters<typeof idOf>[0], what: string) => ({
  id: Type.Optional(idOf(resource, `The ${what}; id or slug is required`)),
  slug: Type.Optional(
    text(200, { minLength: 1, description: `The nearest ${what} with this slug: workspace, then organization, then platform` }),
  ),
  scope: Type.Optional(nullable(oneOf(scopes, { description: 'Restricts the look-up by slug to one scope' }))),
});
const RemoteNames = (description: string) => defaulted(listOf(text(200, { minLength: 1 }), { maxItems: 200, description }), []);
const RevisionChoice = defaulted(
  text(36, {
    pattern: '^(?:active|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$',
    description: '`active`, or the id of a revision',
  }),
  'active',
);

const ToolkitBinding = closed(
  {
    ...refTo('Toolkit', 'toolkit'),
    revision: RevisionChoice,
    include: RemoteNames('Tools to include, by their names in the toolkit; empty includes all'),
    exclude: RemoteNames('Tools to exclude'),
    approval: defaulted(oneOf(toolApprovals), 'default'),
  },
  { $id: 'ToolkitBinding', description: 'The tools of a toolkit that the agent can call' },
);

const SkillBinding = closed(
  {
    ...refTo('Skill', 'skill'),
    version: defaulted(nullable(integer({ minimum: 1, description: 'Null: the version that is promoted when a run begins' })), null),
    mode: defaulted(oneOf(skillModes, { description: 'always includes the text in the prompt' }), 'on_demand'),
  },
  { $id: 'SkillBinding', description: 'A skill that the agent can load' },
);

const SubAgentBinding = closed(
  {
    ...refTo('Agent', 'agent'),
    revision: RevisionChoice,
    persona_slug: defaulted(nullable(text(200, { minLength: 1 })), null),
    description: defaulted(nullable(text(1_024, { description: 'Tells the model when to call the agent' })), null),
    history: defaulted(oneOf(historyModes), 'none'),
    max_calls: defaulted(nullable(integer({ minimum: 1, maximum: 1_000 })), null),
    max_cost: defaulted(
      nullable(text(40, { pattern: '^[0-9]{1,12}(?:\\.[0-9]{1,12})?$', description: 'Decimal, in the billing currency' })),
      null,
    ),
  },
  { $id: 'SubAgentBinding', description: 'An agent to which this agent can delegate' },
);

export const KnowledgeBinding = closed(
  {
    ...refTo('KnowledgeBase', 'knowledge base'),
    access: Type.Optional(oneOf(knowledgeAccesses, { description: 'Defaults to read' })),
    mode: Type.Optional(oneOf(knowledgeModes, { description: 'Defaults to tool' })),
    top_k: Type.Optional(integer({ minimum: 1, maximum: 20, description: 'Defaults to 5' })),
  },
  { $id: 'KnowledgeBinding', description: 'A knowledge base that the agent uses' },
);

const ApprovalRules = closed(
  {
    read: defaulted(oneOf(approvalRules), 'auto'),
    write: defaulted(oneOf(approvalRules), 'auto'),
    approver_floor: defaulted(oneOf(approverFloors), 'member'),
  },
  { $id: 'ApprovalRules', description: 'Whether calls wait for a person where their binding leaves it to the agent' },
);

const ContextRules = closed(
  {
    max_input_tokens: defaulted(nullable(integer({ minimum: 1_000, maximum: 10_000_000 })), null),
    keep_last_turns: defaulted(integer({ minimum: 0, maximum: 200 }), 20),
    on_overflow: defaulted(oneOf(overflowRules), 'summarize'),
  },
  { $id: 'ContextRules', description: 'How much of the conversation the model sees' },
);

const ResponseFormat = closed(
  {
    type: defaulted(oneOf(['text', 'json']), 'text'),
    name: defaulted(nullable(text(64, { minLength: 1, pattern: '^[A-Za-z0-9_-]+$' })), null),
    schema: defaulted(nullable(FreeObject), null),
    strict: defaulted(Type.Boolean(), false),
  },
  { $id: 'ResponseFormat', description: 'The format of the answer: text, or JSON that matches a schema' },
);

export const RevisionLimits = closed(
  {
    max_steps: defaulted(integer({ minimum: 1, maximum: 500 }), 50),
    max_duration_s: defaulted(integer({ minimum: 10, maximum: 604_800, description: 'Time spent waiting does not count' }), 3_600),
    max_output_tokens: defaulted(nullable(integer({ minimum: 1, maximum: 200_000, description: 'Per model call' })), null),
    max_cost: defaulted(nullable({ ...Amount, description: 'For the run and its descendants, in the billing currency' }), null),
    max_children: defaulted(integer({ minimum: 0, maximum: 50, description: 'Descendant runs, at any depth' }), 20),
    max_depth: defaulted(integer({ minimum: 0, maximum: 5, description: 'Levels of runs below the root run' }), 3),
    approval_ttl_s: defaulted(
      integer({ minimum: 30, maximum: 2_592_000, description: 'How long a question waits for its answer' }),
      86_400,
    ),
    on_expiry: defaulted(
      oneOf(['deny', 'fail'], { description: 'What happens when a question expires: its call is denied, or the run fails' }),
      'deny',
    ),
    on_budget: defaulted(
      oneOf(['fail', 'wait'], {
        description: 'What happens when a budget is exhausted: the run ends, or it waits for an admin or the next period',
      }),
      'fail',
    ),
    max_tool_calls: defaulted(integer({ minimum: 1, maximum: 2_000 }), 200),
  },
  { $id: 'RevisionLimits', description: 'Upper limits for each run; a run can only lower them' },
);

export const RevisionDocument = closed(
  {
    schema_version: defaulted(integer({ minimum: 1, maximum: documentSchemaVersion }), documentSchemaVersion),
    model: defaulted(nullable(ModelName), null),
    fallback_models: defaulted(
      listOf(ModelName, { maxItems: 3, description: 'Models that are tried in order when the model remains unavailable' }),
      [],
    ),
    instructions: defaulted(text(65_536, { description: 'Liquid template of the system prompt' }), ''),
    variables: defaulted(listOf(RevisionVariable, { maxItems: 50 }), []),
    model_settings: defaulted(ModelSettings, {}),
    response_format: defaulted(ResponseFormat, {}),
    tools: defaulted(listOf(ToolBinding, { maxItems: 128 }), []),
    toolkits: defaulted(listOf(ToolkitBinding, { maxItems: 16 }), []),
    skills: defaulted(listOf(SkillBinding, { maxItems: 64 }), []),
    sub_agents: defaulted(listOf(SubAgentBinding, { maxItems: 32 }), []),
    knowledge: defaulted(listOf(KnowledgeBinding, { maxItems: 32 }), []),
    approvals: defaulted(ApprovalRules, {}),
    context: defaulted(ContextRules, {}),
    input_schema: defaulted(nullable(FreeObject), null),
    limits: defaulted(RevisionLimits, {}),
    metadata: defaulted(FreeObject, {}),
  },
  { $id: 'RevisionDocument', description: 'The definition of an agent: model, instructions, tools and limits. Immutable once stored' },
);

export const AgentRevisionView = closed(
  {
    id: idOf('AgentRevision'),
    agent_id: idOf('Agent'),
    number: integer({ minimum: 1 }),
    is_active: Type.Boolean(),
    document: Type.Optional(RevisionDocument),
    document_hash: text(64, { description: 'SHA-256 of the canonical JSON of the document' }),
    note: nullable(text(500)),
    created_by: ActorRef,
    created_at: Timestamp,
  },
  { $id: 'AgentRevisionView', description: 'One immutable version of an agent; lists omit the document' },
);

export const AgentRevisionCreate = closed(
  {
    document: RevisionDocument,
    note: Type.Optional(nullable(text(500))),
    base_revision_id: Type.Optional(
      nullable(idOf('AgentRevision', 'The revision on which this one is based; the request is refused if it is no longer the newest')),
    ),
  },
  { $id: 'AgentRevisionCreate' },
);

/** The wire form of a revision; without its document when the row was read for a list. */
export function toAgentRevisionView(row: AgentRevisionRow) {
  return {
    id: row.id,
    agent_id: row.agentId,
    number: row.number,
    is_active: row.isActive,
    ...(row.document ? { document: toDocumentView(row.document) } : {}),
    document_hash: row.documentHash,
    note: row.note,
    created_by: { kind: row.createdBy.kind, id: row.createdBy.id },
    created_at: iso(row.createdAt),
  };
}

// The stored document is the wire form; its arrays are readonly in code only.
function toDocumentView(document: StoredDocument): Type.Static<typeof RevisionDocument> {
  return document as Type.Static<typeof RevisionDocument>;
}

/** Converts the validated body to the form that the rules of db/agents take. */
export function toRevisionDraft(document: Type.Static<typeof RevisionDocument>): RevisionDraft {
  return document;
}
