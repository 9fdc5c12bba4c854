import Type from 'typebox';
import {
  codeIsolations,
  codeLanguages,
  delegateOutputs,
  scheduleQuotas,
  searchFreshness,
  searchProviders,
} from '../../db/tools/kind-config.ts';
import { builtinNames } from '../../db/tools/tool-config.ts';
import type { CreatableToolKind } from '../../domain/tools/tool-config.ts';
import { historyModes } from '../../db/agents/revisions/revision-document.ts';
import { scopes } from '../../workflows/contracts/access.ts';
import { closed, idOf, integer, listOf, nullable, oneOf, text } from '../http/input/schema.ts';
import { HttpToolConfig, SecretName } from './http-config.schema.ts';

const DomainName = text(253, { minLength: 1, pattern: '^[A-Za-z0-9.-]+$', description: 'The domain and everything below it' });
const Pointer = text(400, { pattern: '^(?:/(?:[^~]|~[01])*)?$', description: 'JSON pointer' });
const HeaderName = text(100, { minLength: 1, pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$" });

const WebFetchToolConfig = closed(
  {
    allow_domains: Type.Optional(listOf(DomainName, { description: 'Empty allows all' })),
    deny_domains: Type.Optional(listOf(DomainName)),
    max_bytes: Type.Optional(integer({ minimum: 1_024, maximum: 10 * 1024 * 1024, default: 2 * 1024 * 1024 })),
    format: Type.Optional(oneOf(['markdown', 'text', 'raw'], { default: 'markdown' })),
    robots: Type.Optional(Type.Boolean({ default: true })),
    cache_s: Type.Optional(integer({ minimum: 0, maximum: 86_400, default: 300 })),
  },
  { $id: 'WebFetchToolConfig', description: 'Which pages may be read, and how' },
);

const BuiltinToolConfig = closed(
  { name: oneOf(builtinNames), options: Type.Optional(closed({})) },
  { $id: 'BuiltinToolConfig', description: 'A tool that runs inside the platform' },
);

const CodeExecToolConfig = closed(
  {
    language: oneOf(codeLanguages),
    isolation: Type.Optional(oneOf(codeIsolations, { default: 'default', description: 'Python and shell need strict' })),
    memory_mb: Type.Optional(integer({ minimum: 16, maximum: 256, default: 64 })),
    cpu_ms: Type.Optional(integer({ minimum: 100, maximum: 60_000, default: 5_000 })),
    source: Type.Optional(
      nullable(
        text(65_536, { minLength: 1, description: 'A fixed program; the model then only sends its input, according to your input_schema' }),
      ),
    ),
  },
  { $id: 'CodeExecToolConfig', description: 'Code in a sandbox without network, files or secrets' },
);

/** Without defaults in the schema: a validator fills none in a union with null. */
const SearchMapping = closed(
  {
    query: Type.Optional(text(100, { minLength: 1, pattern: '^[^&=#]+$', description: 'Parameter that carries the query; defaults to q' })),
    count: Type.Optional(nullable(text(100, { minLength: 1, pattern: '^[^&=#]+$', description: 'Parameter for the number of results' }))),
    key_header: Type.Optional({
      ...HeaderName,
      description: 'Header for the key; defaults to authorization, which sends it as Bearer',
    }),
    results: Type.Optional({ ...Pointer, description: 'JSON pointer to the array of results; defaults to /results' }),
    title: Type.Optional({ ...Pointer, description: 'Pointer within a result; defaults to /title, and so on' }),
    url: Type.Optional(Pointer),
    snippet: Type.Optional(Pointer),
    published_at: Type.Optional(nullable(Pointer)),
  },
  { $id: 'SearchMapping', description: 'How a server of provider http_json is asked and read' },
);

const WebSearchToolConfig = closed(
  {
    provider: oneOf(searchProviders),
    base_url: Type.Optional(nullable(text(2_048, { minLength: 1, description: 'Only with searxng and http_json' }))),
    secret: Type.Optional(nullable(SecretName)),
    max_results: Type.Optional(integer({ minimum: 1, maximum: 20, default: 8 })),
    include_domains: Type.Optional(listOf(DomainName, { maxItems: 50 })),
    exclude_domains: Type.Optional(listOf(DomainName, { maxItems: 50 })),
    region: Type.Optional(nullable(text(10, { minLength: 2, pattern: '^[A-Za-z]{2}(?:-[A-Za-z]{2})?$' }))),
    freshness: Type.Optional(nullable(oneOf(searchFreshness))),
    mapping: Type.Optional(nullable(SearchMapping)),
  },
  { $id: 'WebSearchToolConfig', description: 'Which search service is asked, and how' },
);

const AgentRef = closed(
  {
    id: Type.Optional(idOf('Agent', 'id or slug is required')),
    slug: Type.Optional(
      text(200, { minLength: 1, description: 'The nearest agent with this slug: workspace, then organization, then platform' }),
    ),
    scope: Type.Optional(nullable(oneOf(scopes))),
  },
  { $id: 'AgentRef', description: 'An agent by id or slug' },
);

const DelegateToolConfig = closed(
  {
    agent: AgentRef,
    revision: Type.Optional(
      text(36, {
        pattern: '^(?:active|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$',
        description: '`active`, or the id of a revision',
        default: 'active',
      }),
    ),
    persona_slug: Type.Optional(nullable(text(200, { minLength: 1 }))),
    history: Type.Optional(oneOf(historyModes, { default: 'none' })),
    output: Type.Optional(oneOf(delegateOutputs, { default: 'text' })),
    max_cost: Type.Optional(nullable(text(40, { pattern: '^[0-9]{1,12}(?:\\.[0-9]{1,12})?$', description: 'Decimal' }))),
  },
  { $id: 'DelegateToolConfig', description: 'The agent that is called, and what it gets' },
);

const ScheduleToolConfig = closed(
  {
    agent: Type.Optional(
      Type.Unsafe<'self' | Type.Static<typeof AgentRef>>({ oneOf: [{ type: 'string', enum: ['self'], title: 'self' }, AgentRef] }),
    ),
    allow: Type.Optional(listOf(oneOf(scheduleQuotas), { minItems: 1, maxItems: 2, uniqueItems: true })),
    min_interval_s: Type.Optional(integer({ minimum: 300, maximum: 31_536_000, default: 3_600 })),
    max_active: Type.Optional(integer({ minimum: 1, maximum: 50, default: 10 })),
    horizon_days: Type.Optional(integer({ minimum: 1, maximum: 365, default: 90 })),
  },
  { $id: 'ScheduleToolConfig', description: 'What an agent can schedule for itself or another agent' },
);

/** The schema of a config, by the kind of the tool. */
export const configSchemas = {
  http: HttpToolConfig,
  builtin: BuiltinToolConfig,
  code_exec: CodeExecToolConfig,
  web_search: WebSearchToolConfig,
  web_fetch: WebFetchToolConfig,
  delegate: DelegateToolConfig,
  schedule: ScheduleToolConfig,
} as const satisfies Record<CreatableToolKind, unknown>;

/** Kinds that need no config. */
export const configlessKinds: readonly CreatableToolKind[] = ['web_fetch', 'schedule'];
