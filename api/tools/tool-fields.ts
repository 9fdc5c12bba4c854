import type { Static } from 'typebox';
import { effectOfMethod, httpMethods, secretsOfConfig } from '../../db/tools/tool-config.ts';
import type { Tool } from '../../db/tools/tool.entity.ts';
import type { NewTool, ToolFields } from '../../db/tools/tools.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';
import type { ToolKind } from '../../workflows/contracts/runs.ts';
import type { ToolShape } from './tool-rules.ts';
import type { ToolCreate, ToolUpdate } from './tool.schema.ts';

const maxSecrets = 20;

/** What a toolkit leaves to its tools; the rest is its revisions' to say. */
const ownOfToolkitTools: ReadonlySet<string> = new Set([
  'display_name',
  'effect',
  'critical',
  'concurrency',
  'response_max_chars',
  'timeout_s',
  'is_active',
]);

/** The columns of a new tool, where it lives aside. */
export function toNewTool(body: Static<typeof ToolCreate>, shape: ToolShape): Omit<NewTool, 'scope' | 'organizationId' | 'workspaceId'> {
  const clientOwned = body.client_owned ?? false;
  const effect = effectOf(body.kind, { asked: body.effect, own: shape.effect });
  return {
    slug: body.slug,
    kind: body.kind,
    displayName: body.display_name ?? null,
    description: body.description,
    inputSchema: shape.inputSchema,
    config: shape.config,
    secretsRequired: withSecretsOf(shape.config, body.secrets_required ?? []),
    effect,
    concurrency: body.concurrency ?? effect,
    critical: body.critical ?? false,
    clientOwned,
    responseMaxChars: body.response_max_chars ?? 20_000,
    timeoutS: timeoutOf({ kind: body.kind, clientOwned }, body.timeout_s),
    isActive: body.is_active ?? true,
  };
}

/** What a body changes of a tool; `shape` is null when neither config nor input schema are its subject. */
export function toChanges(tool: Tool, body: Static<typeof ToolUpdate>, shape: ToolShape | null): Partial<ToolFields> {
  const clientOwned = body.client_owned ?? tool.clientOwned;
  const config = shape?.config ?? tool.config;
  const asked = body.secrets_required ?? withoutSecretsOf(tool.config, tool.secretsRequired);
  // One that nobody chose follows its kind: a GET that becomes a POST writes from now on.
  const isOwn = tool.effect === ownEffectOf(tool);
  const effect = effectOf(tool.kind, { asked: body.effect, own: shape !== null && isOwn ? shape.effect : tool.effect });
  const isTimeoutAsked = body.timeout_s !== undefined || body.client_owned !== undefined;
  return {
    ...(body.display_name === undefined ? {} : { displayName: body.display_name }),
    ...(body.description === undefined ? {} : { description: body.description }),
    ...(shape === null ? {} : { inputSchema: shape.inputSchema, config: shape.config }),
    secretsRequired: tool.toolkitId === null ? withSecretsOf(config, asked) : tool.secretsRequired,
    effect,
    // One that followed the effect goes on doing so.
    concurrency: body.concurrency ?? (tool.concurrency === tool.effect ? effect : tool.concurrency),
    critical: body.critical ?? tool.critical,
    clientOwned,
    responseMaxChars: body.response_max_chars ?? tool.responseMaxChars,
    timeoutS: isTimeoutAsked ? timeoutOf({ kind: tool.kind, clientOwned }, body.timeout_s ?? tool.timeoutS) : tool.timeoutS,
    isActive: body.is_active ?? tool.isActive,
  };
}

/** 409 `managed_by_toolkit` for what a toolkit's tool has from its revision. */
export function refuseManaged(tool: Pick<Tool, 'toolkitId'>, fields: readonly string[]): void {
  if (tool.toolkitId === null || fields.every((field) => ownOfToolkitTools.has(field))) return;
  throw fail('state_conflict', { reason: 'managed_by_toolkit', detail: 'The toolkit of the tool says this, by its revisions.' });
}

/** What audit entries tell of a tool; a config names secrets and holds none. */
export function auditedFields(tool: Tool) {
  return {
    display_name: tool.displayName,
    description: tool.description,
    input_schema: tool.inputSchema,
    config: tool.config,
    required_names: tool.secretsRequired,
    effect: tool.effect,
    concurrency: tool.concurrency,
    critical: tool.critical,
    client_owned: tool.clientOwned,
    response_max_chars: tool.responseMaxChars,
    timeout_s: tool.timeoutS,
    is_active: tool.isActive,
  };
}

/** The effect that the tool would have if its author had not said another. */
function ownEffectOf({ kind, config, effect }: Tool): 'read' | 'write' {
  const method = httpMethods.find((one) => one === config['method']);
  return kind === 'http' && method ? effectOfMethod(method) : effect;
}

/** What the platform itself does has the effect it has: told otherwise, a run of max_effect read would write. */
function effectOf(kind: ToolKind, { asked, own }: { readonly asked: 'read' | 'write' | undefined; readonly own: 'read' | 'write' }) {
  const isOurs = kind === 'builtin' || kind === 'delegate' || kind === 'schedule';
  if (isOurs && asked !== undefined && asked !== own) throw invalid('/effect', 'const', 'The kind of the tool decides its effect.');
  return asked ?? own;
}

function timeoutOf(tool: { readonly kind: ToolKind; readonly clientOwned: boolean }, asked: number | undefined): number {
  const isLong = tool.clientOwned || tool.kind === 'delegate';
  const limit = isLong ? 86_400 : 600;
  if (asked !== undefined && asked > limit) throw invalid('/timeout_s', 'maximum', `must be at most ${limit}`, { limit });
  return asked ?? (isLong ? 3_600 : 60);
}

function withSecretsOf(config: Readonly<Record<string, unknown>>, asked: readonly string[]): string[] {
  const names = [...new Set([...asked, ...secretsOfConfig(config)])];
  if (names.length > maxSecrets)
    throw invalid('/secrets_required', 'maxItems', 'At most 20, with those of the config.', { limit: maxSecrets });
  return names;
}

function withoutSecretsOf(config: Readonly<Record<string, unknown>>, names: readonly string[]): string[] {
  const own = secretsOfConfig(config);
  return names.filter((name) => !own.includes(name));
}
