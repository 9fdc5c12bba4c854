import { followedTime } from '../../db/database-clock.ts';
import { newId } from '../../db/ids.ts';
import { isAimedAnew } from '../secrets/secret-aim.ts';
import { dropOwnSecrets } from '../../db/secrets/write-secrets.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { formerSettings, type FormerSettings } from '../../db/toolkits/former-settings.ts';
import { switchActiveRevision } from '../../db/toolkits/revisions.ts';
import type { ToolkitTool } from '../../db/toolkits/toolkit-tool.ts';
import type { Toolkit } from '../../db/toolkits/toolkit.entity.ts';
import type { ToolkitRevisionRow } from '../../db/toolkits/toolkits.ts';
import { lockToolsOfToolkit, newestVersions, servedTools } from '../../db/tools/tools-of-toolkit.ts';
import { ToolVersion } from '../../db/tools/tool-version.entity.ts';
import { Tool } from '../../db/tools/tool.entity.ts';
import { truncateText } from '../../workflows/contracts/truncate-text.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';
import { escapePointer } from '../../workflows/contracts/tools/json-pointer.ts';
import { descriptorOf } from '../tools/tool-descriptor.ts';
import { settingsOf, type ToolOverrides } from './approval.ts';
import { secretsOfAuth } from './toolkit-config.ts';
import { createHash } from 'node:crypto';

export interface Activation {
  readonly revision: Pick<ToolkitRevisionRow, 'id' | 'state'> & { readonly tools: readonly ToolkitTool[] };
  /** Names of the tools that are approved as the revision contains them. A tool that is not approved stays as it is in force, or invisible. */
  readonly approve: 'all' | readonly string[];
  readonly overrides: Readonly<Record<string, ToolOverrides>>;
}

/**
 * Activates a revision of a toolkit: approved tools are created, changed or put back into service, tools that it lacks are removed, the former revision becomes
 * superseded. Activating an older revision is a rollback. Each tool in force gets a version of this revision, which runs pin. The caller has locked the
 * toolkit. Throws 409 `revision_not_activatable`, 422 for names that the revision lacks.
 */
export async function activateToolkitRevision(tx: TenantTransaction, toolkit: Toolkit, activation: Activation): Promise<void> {
  const { revision } = activation;
  if (revision.state !== 'inactive' && revision.state !== 'superseded')
    throw fail('state_conflict', {
      reason: 'revision_not_activatable',
      detail: `A revision in the state ${revision.state} cannot be activated.`,
      context: { state: revision.state },
    });
  const approved = approvedNames(activation);
  const held = await lockToolsOfToolkit(tx, toolkit.id);

  withdraw(held, revision.tools, followedTime(tx.em));
  const approvedTools = revision.tools.filter((tool) => approved.has(tool.name));
  const former = await formerSettings(tx, toolkit.id, revision.id);
  const movedIds = movedTools(toolkit, held, approvedTools);
  approve(tx, { toolkit, held, former, overrides: activation.overrides }, approvedTools);
  await tx.em.flush();
  await dropOwnSecrets(tx, movedIds);
  await writeVersions(tx, toolkit, revision);
  await switchActiveRevision(tx, toolkit.id, revision.id);
  toolkit.activeRevisionId = revision.id;
  await tx.em.flush();
}

function approvedNames({ revision, approve: asked, overrides }: Activation): ReadonlySet<string> {
  const names = new Set(revision.tools.map((tool) => tool.name));
  if (asked !== 'all')
    for (const [at, name] of asked.entries())
      if (!names.has(name)) throw invalid(`/approve/${at}`, 'reference', 'The revision has no tool of this name.');
  const approved = asked === 'all' ? names : new Set(asked);
  for (const name of Object.keys(overrides)) {
    if (!approved.has(name)) throw invalid(`/overrides/${escapePointer(name)}`, 'reference', 'Only approved tools can have overrides.');
  }
  return approved;
}

/** Removes tools that the revision lacks from service at once; their rows stay, so that a later revision restores them under the same id. */
function withdraw(held: readonly Tool[], tools: readonly ToolkitTool[], now: Date): void {
  const names = new Set(tools.map((tool) => tool.name));
  for (const tool of held) {
    if (tool.deletedAt === null && tool.remoteName !== null && !names.has(tool.remoteName)) tool.deletedAt = now;
  }
}

/**
 * Manual tools that now call a different origin: their own secret values are not sent there. Changing a toolkit's own address has already dropped these values.
 */
function movedTools(toolkit: Toolkit, held: readonly Tool[], approved: readonly ToolkitTool[]): string[] {
  if (toolkit.kind !== 'manual') return [];
  const byName = new Map(approved.map((tool) => [tool.name, tool.execution?.config ?? {}]));
  return held.flatMap((tool) => {
    const config = byName.get(tool.remoteName ?? '');
    return config !== undefined && isAimedAnew(tool.config, config) ? [tool.id] : [];
  });
}

interface Approving {
  readonly toolkit: Toolkit;
  /** All rows of the toolkit, deleted ones too. */
  readonly held: readonly Tool[];
  /** By the tool's id. */
  readonly former: ReadonlyMap<string, FormerSettings>;
  readonly overrides: Activation['overrides'];
}

function approve(tx: TenantTransaction, { toolkit, held, former, overrides }: Approving, tools: readonly ToolkitTool[]): void {
  const byName = new Map(held.map((tool) => [tool.remoteName, tool]));
  const taken = new Set(held.map((tool) => tool.slug));
  for (const found of tools) {
    const existing = byName.get(found.name) ?? null;
    const known = { tool: existing, former: (existing && former.get(existing.id)) ?? null };
    const settings = { ...contentOf(toolkit, found), ...settingsOf(known, found, overrides[found.name] ?? {}) };
    if (existing) {
      Object.assign(existing, settings, { quarantinedAt: null, deletedAt: null });
      continue;
    }
    const slug = toolSlug(toolkit.slug, found.name, taken);
    taken.add(slug);
    tx.em.persist(
      tx.em.create(Tool, {
        id: newId(),
        scope: toolkit.scope,
        organizationId: toolkit.organizationId,
        workspaceId: toolkit.workspaceId,
        slug,
        displayName: truncateText(found.title ?? '', 200) || null,
        clientOwned: false,
        isActive: true,
        toolkitId: toolkit.id,
        remoteName: found.name,
        quarantinedAt: null,
        deletedAt: null,
        ...settings,
      }),
    );
  }
}

/** The fields of a tool that the revision itself determines. */
function contentOf(toolkit: Toolkit, found: ToolkitTool) {
  const config = found.execution ? executionOf(toolkit, found.execution.config) : { toolkit_id: toolkit.id, remote_name: found.name };
  const authSecrets = secretsOfAuth(found.execution ? config : toolkit.config);
  return {
    kind: found.execution?.kind ?? ('remote_protocol' as const),
    description: truncateText(found.description || found.title || found.name, 4_096),
    inputSchema: found.input_schema,
    config,
    secretsRequired: [...new Set([...toolkit.secretsRequired, ...authSecrets])],
    remoteHash: found.hash,
  };
}

/**
 * How a tool of a revision is called. Paths of a document are relative to the toolkit's own address, with its credentials; manual tools have both of their own.
 */
export function executionOf(toolkit: Toolkit, config: Readonly<Record<string, unknown>>): Record<string, unknown> {
  if (toolkit.kind !== 'openapi') return { ...config };
  return { ...config, url: `${String(toolkit.config['base_url'])}${String(config['url'])}`, auth: toolkit.config['auth'] };
}

async function writeVersions(tx: TenantTransaction, toolkit: Toolkit, { id, tools }: Activation['revision']): Promise<void> {
  const names = tools.map((tool) => tool.name);
  const inForce = await servedTools(tx, toolkit.id, names);
  const numbers = await newestVersions(
    tx,
    inForce.map((tool) => tool.id),
  );
  for (const tool of inForce) {
    tx.em.persist(
      tx.em.create(ToolVersion, {
        toolId: tool.id,
        organizationId: tool.organizationId,
        workspaceId: tool.workspaceId,
        version: (numbers.get(tool.id) ?? 0) + 1,
        toolkitRevisionId: id,
        // The hash identifies the content for which the settings were approved (`formerSettings`).
        descriptor: { ...descriptorOf(tool), remote_hash: tool.remoteHash },
      }),
    );
  }
  await tx.em.flush();
}

const maxLength = 64;

/**
 * Returns the slug of a toolkit's tool, `<toolkit>__<tool>`: the name under which a model calls it. Characters that no model accepts become `_`; a name that is
 * too long, or whose slug is taken, ends with a part of its hash, so that the slug of a name never depends on the other names.
 */
function toolSlug(toolkitSlug: string, name: string, taken: ReadonlySet<string>): string {
  const slug = `${toolkitSlug}__${name.toLowerCase().replaceAll(/[^a-z0-9_-]/g, '_')}`;
  if (slug.length <= maxLength && !taken.has(slug)) return slug;
  const mark = createHash('sha256').update(name).digest('hex').slice(0, 8);
  return `${slug.slice(0, maxLength - mark.length - 1)}_${mark}`;
}
