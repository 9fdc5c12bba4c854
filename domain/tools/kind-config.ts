import type {
  AgentRefDraft,
  CodeExecToolConfig,
  DelegateToolConfig,
  ScheduleToolConfig,
  SearchMapping,
  StoredAgentRef,
  WebSearchToolConfig,
} from '../../db/tools/kind-config.ts';

export type CodeExecConfigDraft = Partial<CodeExecToolConfig> & Pick<CodeExecToolConfig, 'language'>;
export type WebSearchConfigDraft = Partial<Omit<WebSearchToolConfig, 'mapping'>> &
  Pick<WebSearchToolConfig, 'provider'> & { readonly mapping?: Partial<SearchMapping> | null };
export type DelegateConfigDraft = Partial<Omit<DelegateToolConfig, 'agent'>> & { readonly agent: AgentRefDraft };
export type ScheduleConfigDraft = Partial<Omit<ScheduleToolConfig, 'agent'>> & { readonly agent?: 'self' | AgentRefDraft };

export function completeCodeExecConfig(draft: CodeExecConfigDraft): CodeExecToolConfig {
  return {
    language: draft.language,
    isolation: draft.isolation ?? 'default',
    memory_mb: draft.memory_mb ?? 64,
    cpu_ms: draft.cpu_ms ?? 5_000,
    source: draft.source ?? null,
  };
}

export function completeWebSearchConfig(draft: WebSearchConfigDraft): WebSearchToolConfig {
  return {
    provider: draft.provider,
    base_url: draft.base_url ?? null,
    secret: draft.secret ?? null,
    max_results: draft.max_results ?? 8,
    include_domains: draft.include_domains ?? [],
    exclude_domains: draft.exclude_domains ?? [],
    region: draft.region ?? null,
    freshness: draft.freshness ?? null,
    mapping: draft.provider === 'http_json' ? completeMapping(draft.mapping ?? {}) : null,
  };
}

function completeMapping(draft: Partial<SearchMapping>): SearchMapping {
  return {
    query: draft.query ?? 'q',
    count: draft.count ?? null,
    key_header: draft.key_header ?? 'authorization',
    results: draft.results ?? '/results',
    title: draft.title ?? '/title',
    url: draft.url ?? '/url',
    snippet: draft.snippet ?? '/snippet',
    published_at: draft.published_at ?? null,
  };
}

export function completeDelegateConfig(draft: DelegateConfigDraft, agent: StoredAgentRef): DelegateToolConfig {
  return {
    agent,
    revision: draft.revision ?? 'active',
    persona_slug: draft.persona_slug ?? null,
    history: draft.history ?? 'none',
    output: draft.output ?? 'text',
    max_cost: draft.max_cost ?? null,
  };
}

export function completeScheduleConfig(draft: ScheduleConfigDraft, agent: 'self' | StoredAgentRef): ScheduleToolConfig {
  return {
    agent,
    allow: draft.allow ?? ['once', 'recurring'],
    min_interval_s: draft.min_interval_s ?? 3_600,
    max_active: draft.max_active ?? 10,
    horizon_days: draft.horizon_days ?? 90,
  };
}

/** Input schemas that these kinds fix: what the model may send. */
export const codeExecInputSchema = {
  type: 'object',
  properties: {
    code: { type: 'string', minLength: 1, maxLength: 65_536, description: 'The program; its last value or what it prints is the result' },
    input: { description: 'Handed to the program as the variable input' },
  },
  required: ['code'],
  additionalProperties: false,
} as const;

export const webSearchInputSchema = {
  type: 'object',
  properties: { query: { type: 'string', minLength: 1, maxLength: 400, description: 'What to look for' } },
  required: ['query'],
  additionalProperties: false,
} as const;

export const delegateInputSchema = {
  type: 'object',
  properties: {
    task: { type: 'string', minLength: 1, maxLength: 65_536, description: 'What the other agent is to do, with all it needs to know' },
    input: { type: 'object', description: 'Structured input, as the other agent takes it' },
    attachments: { type: 'array', maxItems: 20, items: { type: 'string', maxLength: 36 }, description: 'Ids of attachments to hand over' },
  },
  required: ['task'],
  additionalProperties: false,
} as const;

export const scheduleInputSchema = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 1, maxLength: 200 },
    prompt: { type: 'string', minLength: 1, maxLength: 32_768, description: 'What the agent is told when the time has come' },
    at: { type: 'string', maxLength: 40, description: 'Once, at this time: ISO 8601 with an offset' },
    cron: { type: 'string', maxLength: 200, description: 'Again and again, by this cron expression of five fields' },
    timezone: { type: 'string', maxLength: 64, description: 'IANA time zone of cron; the workspace has one of its own' },
  },
  required: ['prompt'],
  additionalProperties: false,
} as const;
