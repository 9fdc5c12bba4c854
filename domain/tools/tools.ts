import { followedTime } from '../../db/database-clock.ts';
import { isDeepStrictEqual } from 'node:util';
import { newId } from '../../db/ids.ts';
import type { RowScope } from '../../db/new-row-scope.ts';
import { isAimedAnew } from '../secrets/secret-aim.ts';
import { dropOwnSecrets } from '../../db/secrets/write-secrets.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { agentsUsing } from '../../db/tools/tool-use.ts';
import { ToolVersion } from '../../db/tools/tool-version.entity.ts';
import { newestVersions } from '../../db/tools/tools-of-toolkit.ts';
import { Tool } from '../../db/tools/tool.entity.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { creatableToolKinds, type CreatableToolKind } from './tool-config.ts';
import { descriptorOf } from './tool-descriptor.ts';
import {
  refuseManaged,
  toChanges,
  toNewTool,
  type NewTool,
  type NewToolSettings,
  type ToolFields,
  type ToolSettings,
} from './tool-fields.ts';
import { shapeOf, type ToolChecks, type ToolShape } from './tool-shape.ts';

/** What decides, beside the rows, whether an author may create or change a tool. */
export interface ToolRules {
  /** What the rules need from the deployment and the tool's row scope. */
  readonly checksFor: (rowScope: RowScope) => Promise<ToolChecks>;
  readonly refuseForeignAim: RefuseForeignAim;
  /** Throws 422 unless a config has the form of its kind. */
  readonly checkConfigForm: (kind: CreatableToolKind, config: Readonly<Record<string, unknown>>) => void;
}

/**
 * Creates an author's tool, whose config has the form of its kind. Returns its id. Throws 422 for settings that can't be used, 403 for secrets that the caller
 * may not send there.
 */
export async function createTool(tx: TenantTransaction, rowScope: RowScope, asked: NewToolSettings, rules: ToolRules): Promise<string> {
  const { kind, config = {}, inputSchema, clientOwned = false } = asked;
  const shape = await shapeOf({ kind, config, inputSchema, clientOwned }, await rules.checksFor(rowScope));
  await rules.refuseForeignAim(rowScope, [{ before: null, after: shape.config }]);
  return insertTool(tx, { ...rowScope, ...toNewTool(asked, shape) });
}

/**
 * Changes an author's settings of a tool that the caller has locked (`seeForChange`); others stay. Throws 409 `managed_by_toolkit`, 422 for settings that can't
 * be used, 403 for secrets that the caller may not send there. Returns the names of the tool's own secret values that are dropped, because they would be sent
 * elsewhere.
 */
export async function changeTool(tx: TenantTransaction, tool: Tool, asked: ToolSettings, rules: ToolRules): Promise<readonly string[]> {
  refuseManaged(tool, asked);
  const shape = await shapeOfChange(tool, asked, rules);
  const dropped = shape === null ? [] : await aimAnew(tx, tool, { config: shape.config, rules });
  await updateToolRow(tx, tool, toChanges(tool, asked, shape));
  return dropped;
}

/**
 * Removes a tool that the caller has locked from every later run, and deletes its own secret values. Throws 409 `managed_by_toolkit` for a toolkit's tool, and
 * `in_use` while active revisions bind it, unless `force`.
 */
export async function deleteTool(tx: TenantTransaction, tool: Tool, { force }: { readonly force: boolean }): Promise<void> {
  if (tool.toolkitId !== null)
    throw fail('state_conflict', { reason: 'managed_by_toolkit', detail: 'The tool can only be deleted with its toolkit.' });
  const usedBy = force ? [] : await agentsUsing(tx, tool.id);
  if (usedBy.length > 0)
    throw fail('state_conflict', { reason: 'in_use', detail: 'Active revisions use this tool.', context: { used_by: usedBy } });

  tool.deletedAt = followedTime(tx.em);
  await tx.em.flush();
  await dropOwnSecrets(tx, [tool.id]);
}

/** Writes a tool and its first version, which runs pin. Returns its id. */
export async function insertTool(tx: TenantTransaction, made: NewTool): Promise<string> {
  const tool = tx.em.create(Tool, {
    id: newId(),
    secretsRequired: [],
    critical: false,
    clientOwned: false,
    isIdempotent: false,
    toolkitId: null,
    remoteName: null,
    remoteHash: null,
    quarantinedAt: null,
    ...made,
    deletedAt: null,
  });
  await tx.em.persist([tool, newVersion(tx, tool, 1)]).flush();
  return tool.id;
}

/** A change that a run would notice becomes a new version, which runs pin that begin from now on. */
async function updateToolRow(tx: TenantTransaction, tool: Tool, changes: Partial<ToolFields>): Promise<void> {
  const before = descriptorOf(tool);
  Object.assign(tool, changes);
  if (isDeepStrictEqual(before, descriptorOf(tool))) return tx.em.flush();

  const version = ((await newestVersions(tx, [tool.id])).get(tool.id) ?? 0) + 1;
  await tx.em.persist(newVersion(tx, tool, version)).flush();
}

function newVersion(tx: TenantTransaction, tool: Tool, version: number): ToolVersion {
  return tx.em.create(ToolVersion, {
    toolId: tool.id,
    organizationId: tool.organizationId,
    workspaceId: tool.workspaceId,
    version,
    toolkitRevisionId: null,
    descriptor: descriptorOf(tool),
  });
}

/** Applies a new config to the secrets of a tool. Returns the names of its own values that are dropped. */
async function aimAnew(
  tx: TenantTransaction,
  tool: Tool,
  { config, rules }: { readonly config: Record<string, unknown>; readonly rules: ToolRules },
): Promise<readonly string[]> {
  await rules.refuseForeignAim(tool, [{ before: tool.config, after: config }]);
  return isAimedAnew(tool.config, config) ? dropOwnSecrets(tx, [tool.id]) : [];
}

/** The shape of the tool after a change; null when the change does not affect it. */
async function shapeOfChange(tool: Tool, asked: ToolSettings, rules: ToolRules): Promise<ToolShape | null> {
  const kind = creatableToolKinds.find((one) => one === tool.kind);
  const isAsked = asked.config !== undefined || asked.inputSchema !== undefined || asked.clientOwned !== undefined;
  if (!isAsked || kind === undefined) return null;

  const clientOwned = asked.clientOwned ?? tool.clientOwned;
  const config = asked.config ?? tool.config;
  const isBare = clientOwned && Object.keys(config).length === 0;
  if (!isBare) rules.checkConfigForm(kind, config);
  const mayHaveSchema = clientOwned || kind === 'http' || (kind === 'code_exec' && typeof config['source'] === 'string');
  const inputSchema = asked.inputSchema ?? (mayHaveSchema ? tool.inputSchema : undefined);
  return shapeOf({ kind, config, inputSchema, clientOwned }, await rules.checksFor(tool));
}

type Config = Readonly<Record<string, unknown>>;

/** A config that comes into force; `before` is null when there was none. */
export interface AimChange {
  readonly before: Config | null;
  readonly after: Config;
}

/** Throws 403 unless the caller may send the secrets that the configs name where the configs send them, for a row in this row scope. */
export type RefuseForeignAim = (rowScope: RowScope, changes: readonly AimChange[]) => Promise<void>;
