import type { RowScope } from '../../db/new-row-scope.ts';
import { httpMethods } from '../../db/tools/tool-config.ts';
import type { Tool } from '../../db/tools/tool.entity.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';
import type { ToolKind } from '../../workflows/contracts/runs/runs.ts';
import { effectOfMethod, secretsOfConfig, type CreatableToolKind } from './tool-config.ts';
import type { ToolShape } from './tool-shape.ts';

type SettableField =
  | 'displayName'
  | 'description'
  | 'inputSchema'
  | 'config'
  | 'secretsRequired'
  | 'effect'
  | 'concurrency'
  | 'critical'
  | 'clientOwned'
  | 'responseMaxChars'
  | 'timeoutS'
  | 'isActive';

/** The fields of a tool that can be set beside its identity. */
export type ToolFields = Pick<Tool, SettableField>;

/** An author's new tool; omitted: no secrets, not critical, not client-owned. */
export type NewTool = RowScope & Pick<Tool, 'slug' | 'kind'> & Omit<ToolFields, DefaultedField> & Partial<Pick<ToolFields, DefaultedField>>;
type DefaultedField = 'secretsRequired' | 'critical' | 'clientOwned';

/** An author's settings of a tool; an omitted field has the kind's default or, for an existing tool, its current value. */
export type ToolSettings = { readonly [F in SettableField]?: Tool[F] | undefined };

/** An author's settings of a new tool. */
export interface NewToolSettings extends ToolSettings {
  readonly slug: string;
  readonly kind: CreatableToolKind;
  readonly description: string;
}

const maxSecrets = 20;

/** Fields that a toolkit leaves to its tools; its revisions determine the rest. */
const ownOfToolkitTools: ReadonlySet<string> = new Set<keyof ToolSettings>([
  'displayName',
  'effect',
  'critical',
  'concurrency',
  'responseMaxChars',
  'timeoutS',
  'isActive',
]);

/** The columns of a new tool, except its row scope. */
export function toNewTool(asked: NewToolSettings, shape: ToolShape): Omit<NewTool, keyof RowScope> {
  const clientOwned = asked.clientOwned ?? false;
  const effect = effectOf(asked.kind, { asked: asked.effect, own: shape.effect });
  return {
    slug: asked.slug,
    kind: asked.kind,
    displayName: asked.displayName ?? null,
    description: asked.description,
    inputSchema: shape.inputSchema,
    config: shape.config,
    secretsRequired: withSecretsOf(shape.config, asked.secretsRequired ?? []),
    effect,
    concurrency: asked.concurrency ?? effect,
    critical: asked.critical ?? false,
    clientOwned,
    responseMaxChars: asked.responseMaxChars ?? 20_000,
    timeoutS: timeoutOf({ kind: asked.kind, clientOwned }, asked.timeoutS),
    isActive: asked.isActive ?? true,
  };
}

/** An author's changes of a tool; `shape` is null when neither config nor input schema change. */
export function toChanges(tool: Tool, asked: ToolSettings, shape: ToolShape | null): Partial<ToolFields> {
  const clientOwned = asked.clientOwned ?? tool.clientOwned;
  const config = shape?.config ?? tool.config;
  const askedSecrets = asked.secretsRequired ?? withoutSecretsOf(tool.config, tool.secretsRequired);
  // An effect that no author chose follows the kind: a GET that becomes a POST writes from now on.
  const isOwn = tool.effect === ownEffectOf(tool);
  const effect = effectOf(tool.kind, { asked: asked.effect, own: shape !== null && isOwn ? shape.effect : tool.effect });
  const isTimeoutAsked = asked.timeoutS !== undefined || asked.clientOwned !== undefined;
  return {
    ...(asked.displayName === undefined ? {} : { displayName: asked.displayName }),
    ...(asked.description === undefined ? {} : { description: asked.description }),
    ...(shape === null ? {} : { inputSchema: shape.inputSchema, config: shape.config }),
    secretsRequired: tool.toolkitId === null ? withSecretsOf(config, askedSecrets) : tool.secretsRequired,
    effect,
    // A concurrency that followed the effect continues to do so.
    concurrency: asked.concurrency ?? (tool.concurrency === tool.effect ? effect : tool.concurrency),
    critical: asked.critical ?? tool.critical,
    clientOwned,
    responseMaxChars: asked.responseMaxChars ?? tool.responseMaxChars,
    timeoutS: isTimeoutAsked ? timeoutOf({ kind: tool.kind, clientOwned }, asked.timeoutS ?? tool.timeoutS) : tool.timeoutS,
    isActive: asked.isActive ?? tool.isActive,
  };
}

/** Throws 409 `managed_by_toolkit` for fields that a toolkit's tool has from its revision. */
export function refuseManaged(tool: Pick<Tool, 'toolkitId'>, asked: ToolSettings): void {
  const fields = Object.entries(asked).filter(([, value]) => value !== undefined);
  if (tool.toolkitId === null || fields.every(([field]) => ownOfToolkitTools.has(field))) return;
  throw fail('state_conflict', { reason: 'managed_by_toolkit', detail: 'This is defined by the revisions of the tool’s toolkit.' });
}

/** The effect that the tool would have unless its author had chosen another. */
function ownEffectOf({ kind, config, effect }: Tool): 'read' | 'write' {
  const method = httpMethods.find((one) => one === config['method']);
  return kind === 'http' && method ? effectOfMethod(method) : effect;
}

/** The effect of kinds that the platform itself executes is fixed: otherwise a run of max_effect read could write. */
function effectOf(kind: ToolKind, { asked, own }: { readonly asked: 'read' | 'write' | undefined; readonly own: 'read' | 'write' }) {
  const isOurs = kind === 'builtin' || kind === 'delegate' || kind === 'schedule';
  if (isOurs && asked !== undefined && asked !== own) throw invalid('/effect', 'const', 'The kind of the tool determines its effect.');
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
    throw invalid('/secrets_required', 'maxItems', 'Must be at most 20, including those of the config.', { limit: maxSecrets });
  return names;
}

function withoutSecretsOf(config: Readonly<Record<string, unknown>>, names: readonly string[]): string[] {
  const own = secretsOfConfig(config);
  return names.filter((name) => !own.includes(name));
}
