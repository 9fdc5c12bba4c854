import type { CodeExecToolConfig, StoredAgentRef, WebSearchToolConfig } from '../../db/tools/kind-config.ts';
import type { BuiltinToolConfig } from '../../db/tools/tool-config.ts';
import type { TenantSchemas } from '../../ports/json/schema.ts';
import { fail, invalid, type Violation } from '../../workflows/contracts/failure.ts';
import type { NamedAgent } from './agent-ref.ts';
import { checkHttp, checkOrigin, type HttpChecks } from './http-rules.ts';
import {
  codeExecInputSchema,
  completeCodeExecConfig,
  completeDelegateConfig,
  completeScheduleConfig,
  completeWebSearchConfig,
  delegateInputSchema,
  scheduleInputSchema,
  webSearchInputSchema,
  type CodeExecConfigDraft,
  type DelegateConfigDraft,
  type ScheduleConfigDraft,
  type WebSearchConfigDraft,
} from './kind-config.ts';
import {
  builtinEffects,
  builtinInputSchemas,
  completeHttpConfig,
  completeWebFetchConfig,
  effectOfMethod,
  emptyInputSchema,
  webFetchInputSchema,
  type CreatableToolKind,
  type HttpConfigDraft,
} from './tool-config.ts';

/** The fields that decide the shape of a tool; `config` already has the form of its kind. */
export interface ToolDraft {
  readonly kind: CreatableToolKind;
  readonly config: Readonly<Record<string, unknown>>;
  readonly inputSchema: Record<string, unknown> | undefined;
  readonly clientOwned: boolean;
}

/** The result of a draft for its kind: the schema that the model sees, the stored config and the default effect. */
export interface ToolShape {
  readonly inputSchema: Record<string, unknown>;
  readonly config: Record<string, unknown>;
  readonly effect: 'read' | 'write';
}

export interface ToolChecks extends HttpChecks {
  readonly schemas: TenantSchemas;
  /** Whether this deployment runs code, and whether it can isolate strictly; it never falls back to less. */
  readonly codeExec: { readonly isOn: boolean; readonly hasStrict: () => Promise<boolean> };
  /** Returns the agent that a config names, as seen from the tool's row scope. Throws 422 `reference`. */
  readonly findAgent: (pointer: string, named: NamedAgent) => Promise<StoredAgentRef>;
}

/** Returns the shape of a tool. Throws 422 for a schema, template, URL or reference that can't be used. */
export async function shapeOf(draft: ToolDraft, checks: ToolChecks): Promise<ToolShape> {
  if (!draft.clientOwned) return shapeOfKind(draft, checks);
  if (draft.kind === 'delegate' || draft.kind === 'schedule')
    throw invalid('/client_owned', 'enum', 'A tool of this kind cannot be owned by the client.');

  const inputSchema = draft.inputSchema === undefined ? undefined : await checkedSchema(draft.inputSchema, checks);
  if (Object.keys(draft.config).length === 0)
    return { inputSchema: inputSchema ?? { ...emptyInputSchema }, config: {}, effect: draft.kind === 'http' ? 'write' : 'read' };
  const shape = await shapeOfKind({ ...draft, inputSchema: undefined }, checks);
  return inputSchema === undefined ? shape : { ...shape, inputSchema };
}

async function shapeOfKind(draft: ToolDraft, checks: ToolChecks): Promise<ToolShape> {
  switch (draft.kind) {
    case 'http': {
      // The schema of the request has checked the config against its kind, here and below.
      const config = completeHttpConfig(draft.config as unknown as HttpConfigDraft);
      await checkHttp(config, checks);
      return {
        inputSchema: await checkedSchema(draft.inputSchema ?? { ...emptyInputSchema }, checks),
        config: { ...config },
        effect: effectOfMethod(config.method),
      };
    }
    case 'code_exec':
      return codeShape(draft, checks);
    case 'web_fetch':
      return fixed(draft, webFetchInputSchema, { config: { ...completeWebFetchConfig(draft.config) }, effect: 'read' });
    case 'web_search': {
      const config = completeWebSearchConfig(draft.config as unknown as WebSearchConfigDraft);
      checkSearch(config, checks);
      return fixed(draft, webSearchInputSchema, { config: { ...config }, effect: 'read' });
    }
    case 'builtin': {
      const { name } = draft.config as unknown as BuiltinToolConfig;
      return fixed(draft, builtinInputSchemas[name], { config: { name, options: {} }, effect: builtinEffects[name] });
    }
    case 'delegate': {
      const given = draft.config as unknown as DelegateConfigDraft;
      const agent = await checks.findAgent('/config', { agent: given.agent, revision: given.revision, personaSlug: given.persona_slug });
      return fixed(draft, delegateInputSchema, { config: { ...completeDelegateConfig(given, agent) }, effect: 'write' });
    }
    case 'schedule': {
      const given: ScheduleConfigDraft = draft.config;
      const named = given.agent ?? 'self';
      const agent = named === 'self' ? named : await checks.findAgent('/config', { agent: named });
      return fixed(draft, scheduleInputSchema, { config: { ...completeScheduleConfig(given, agent) }, effect: 'write' });
    }
    default:
      return draft.kind satisfies never;
  }
}

/** The author gives the input schema of a fixed program; without a program the model sends one. */
async function codeShape(draft: ToolDraft, checks: ToolChecks): Promise<ToolShape> {
  const config = completeCodeExecConfig(draft.config as unknown as CodeExecConfigDraft);
  await checkIsolation(config, checks);
  if (config.source === null) return fixed(draft, codeExecInputSchema, { config: { ...config }, effect: 'read' });
  const inputSchema = await checkedSchema(draft.inputSchema ?? { ...emptyInputSchema }, checks);
  return { inputSchema, config: { ...config }, effect: 'read' };
}

async function checkIsolation(config: CodeExecToolConfig, { codeExec }: ToolChecks): Promise<void> {
  if (!codeExec.isOn) throw invalid('/kind', 'code_exec_off', 'This deployment does not run code: its operator has set CODE_EXEC=off.');
  if (config.language !== 'javascript' && config.isolation !== 'strict')
    throw invalid('/config/isolation', 'enum', 'Only JavaScript can run without strict isolation.');
  if (config.isolation === 'strict' && !(await codeExec.hasStrict()))
    throw invalid(
      '/config/isolation',
      'isolation_unavailable',
      'This deployment does not support strict isolation, which requires Linux with bubblewrap. GET /capabilities lists what it can run.',
    );
}

function checkSearch(config: WebSearchToolConfig, checks: ToolChecks): void {
  if (config.provider === 'brave') {
    if (config.base_url !== null) throw invalid('/config/base_url', 'unknown_field', 'This provider has a fixed address.');
    if (config.secret === null) throw invalid('/config/secret', 'required', 'This provider requires a key.');
    return;
  }
  if (config.base_url === null) throw invalid('/config/base_url', 'required', 'is required');
  checkOrigin('/config/base_url', config.base_url, checks.policy);
  if (!URL.canParse(config.base_url) || config.base_url.includes('{'))
    throw invalid('/config/base_url', 'format', 'The address must be a literal URL.');
}

/** The shape of a kind that itself fixes what the model may send. */
function fixed(
  draft: ToolDraft,
  schema: Readonly<Record<string, unknown>>,
  made: { readonly config: Record<string, unknown>; readonly effect: 'read' | 'write' },
): ToolShape {
  if (draft.inputSchema !== undefined) throw invalid('/input_schema', 'unknown_field', 'The kind of the tool defines its input schema.');
  return { inputSchema: { ...schema }, ...made };
}

async function checkedSchema(schema: Record<string, unknown>, checks: Pick<ToolChecks, 'schemas'>): Promise<Record<string, unknown>> {
  const problems = await checks.schemas.check(schema);
  if (problems.length === 0) return schema;
  throw fail('validation_failed', {
    detail: 'The input schema cannot be used.',
    errors: problems.map((problem): Violation => ({
      in: 'body',
      pointer: `/input_schema${problem.pointer}`,
      name: null,
      rule: problem.rule,
      message: problem.message,
    })),
  });
}
