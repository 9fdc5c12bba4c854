import type { Scope } from '../../workflows/contracts/access.ts';

export const codeLanguages = ['javascript', 'python', 'shell'] as const;
export const codeIsolations = ['default', 'strict'] as const;

/** Config of kind code_exec. With `source` the program is fixed and the author's own schema describes its input. */
export interface CodeExecToolConfig {
  readonly language: (typeof codeLanguages)[number];
  readonly isolation: (typeof codeIsolations)[number];
  readonly memory_mb: number;
  readonly cpu_ms: number;
  readonly source: string | null;
}

export const searchProviders = ['searxng', 'brave', 'http_json'] as const;
export const searchFreshness = ['day', 'week', 'month', 'year'] as const;

/** How a server of provider http_json is queried and read: names of parameters, JSON pointers to the rows and, within a row, to its fields. */
export interface SearchMapping {
  readonly query: string;
  /** Null: the request names no number of results. */
  readonly count: string | null;
  /** Header that carries the key; `authorization` carries it as Bearer. */
  readonly key_header: string;
  readonly results: string;
  readonly title: string;
  readonly url: string;
  readonly snippet: string;
  readonly published_at: string | null;
}

/** Config of kind web_search; `secret` is the name of the provider's key. */
export interface WebSearchToolConfig {
  readonly provider: (typeof searchProviders)[number];
  readonly base_url: string | null;
  readonly secret: string | null;
  readonly max_results: number;
  readonly include_domains: readonly string[];
  readonly exclude_domains: readonly string[];
  readonly region: string | null;
  readonly freshness: (typeof searchFreshness)[number] | null;
  readonly mapping: SearchMapping | null;
}

/** An agent as a config names it; stored with id, slug and scope. */
export interface AgentRefDraft {
  readonly id?: string;
  readonly slug?: string;
  readonly scope?: Scope | null;
}

export interface StoredAgentRef {
  readonly id: string;
  readonly slug: string;
  readonly scope: Scope;
}

export const delegateOutputs = ['text', 'json'] as const;

/** Config of kind delegate: which agent it asks and what it passes on. */
export interface DelegateToolConfig {
  readonly agent: StoredAgentRef;
  /** `active` as of the call, or a revision's id. */
  readonly revision: string;
  readonly persona_slug: string | null;
  readonly history: 'none' | 'summary';
  readonly output: (typeof delegateOutputs)[number];
  readonly max_cost: string | null;
}

export const scheduleQuotas = ['once', 'recurring'] as const;

/** Config of kind schedule: what an agent may schedule for itself or another. */
export interface ScheduleToolConfig {
  readonly agent: 'self' | StoredAgentRef;
  readonly allow: readonly (typeof scheduleQuotas)[number][];
  readonly min_interval_s: number;
  readonly max_active: number;
  readonly horizon_days: number;
}
