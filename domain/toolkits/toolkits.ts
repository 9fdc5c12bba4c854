import { newId } from '../../db/ids.ts';
import { deleteConnections, deleteToolkitRows } from '../../db/toolkits/delete-toolkit.ts';
import type { RowScope } from '../../db/new-row-scope.ts';
import { isAimedAnew } from '../secrets/secret-aim.ts';
import { dropOwnSecrets } from '../../db/secrets/write-secrets.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { Toolkit, type ToolkitKind } from '../../db/toolkits/toolkit.entity.ts';
import { agentsBinding } from '../../db/toolkits/toolkits.ts';
import { toolsOfToolkit } from '../../db/tools/tools-of-toolkit.ts';
import type { EgressPolicy } from '../../ports/egress/url.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { RefuseForeignAim } from '../tools/tools.ts';
import { isAnotherServer, nextSyncOf, toolkitConfigOf } from './toolkit-rules.ts';
import { failSyncing, quarantineTools, toolsInForce } from '../../db/toolkits/revisions.ts';

/** What decides, beside the rows, whether a caller may create or change a toolkit. */
export interface ToolkitRules {
  /** What an organization's requests may reach; null: the platform's. */
  readonly policyOf: (organizationId: string | null) => Promise<EgressPolicy>;
  readonly refuseForeignAim: RefuseForeignAim;
  readonly now: Date;
}

type Config = Readonly<Record<string, unknown>>;

/** The fields of a new toolkit; its config has the form of its kind. */
export interface NewToolkit {
  readonly slug: string;
  readonly name: string;
  readonly description: string | null;
  readonly kind: ToolkitKind;
  readonly config: Config;
  readonly secretsRequired: readonly string[];
}

/** The changes of a toolkit; an omitted field stays as it is. */
export interface ToolkitChanges {
  readonly name?: string | undefined;
  readonly description?: string | null | undefined;
  /** Replaces the former config completely; has the form of the toolkit's kind. */
  readonly config?: Config | undefined;
  readonly secretsRequired?: readonly string[] | undefined;
  readonly isActive?: boolean | undefined;
}

/** Creates a toolkit without tools. Returns its id. Throws 422 for an address that can't be used, 403 for secrets that the caller may not send there. */
export async function createToolkit(tx: TenantTransaction, rowScope: RowScope, asked: NewToolkit, rules: ToolkitRules): Promise<string> {
  const config = toolkitConfigOf(asked.kind, asked.config, await rules.policyOf(rowScope.organizationId));
  await rules.refuseForeignAim(rowScope, [{ before: null, after: { ...config } }]);
  const toolkit = tx.em.create(Toolkit, {
    id: newId(),
    ...rowScope,
    slug: asked.slug,
    name: asked.name,
    description: asked.description,
    kind: asked.kind,
    config: { ...config },
    secretsRequired: [...asked.secretsRequired],
    activeRevisionId: null,
    isActive: true,
    reachable: null,
    checkedAt: null,
    server: null,
    protocolVersion: null,
    lastError: null,
    nextSyncAt: nextSyncOf(config, rules.now),
    deletedAt: null,
  });
  await tx.em.persist(toolkit).flush();
  return toolkit.id;
}

/**
 * Changes a toolkit that the caller has locked. Another server or other credentials take all of its tools out of service, and drop the connections to the
 * former one. Throws 422 for an address that can't be used, 403 for secrets that the caller may not send there.
 */
export async function changeToolkit(tx: TenantTransaction, toolkit: Toolkit, asked: ToolkitChanges, rules: ToolkitRules): Promise<void> {
  if (asked.name !== undefined) toolkit.name = asked.name;
  if (asked.description !== undefined) toolkit.description = asked.description;
  if (asked.secretsRequired !== undefined) toolkit.secretsRequired = [...asked.secretsRequired];
  if (asked.isActive !== undefined) toolkit.isActive = asked.isActive;
  if (asked.config !== undefined) await changeConfig(tx, toolkit, { config: asked.config, rules });
  await tx.em.flush();
}

async function changeConfig(
  tx: TenantTransaction,
  toolkit: Toolkit,
  { config: asked, rules }: { readonly config: Config; readonly rules: ToolkitRules },
): Promise<void> {
  const config = toolkitConfigOf(toolkit.kind, asked, await rules.policyOf(toolkit.organizationId));
  const before = toolkit.config;
  await rules.refuseForeignAim(toolkit, [{ before, after: { ...config } }]);
  toolkit.config = { ...config };
  if (before['sync_interval_s'] !== toolkit.config['sync_interval_s']) toolkit.nextSyncAt = nextSyncOf(config, rules.now);
  if (!isAnotherServer(before, config)) return;
  if (isAimedAnew(before, toolkit.config)) await dropOwnSecrets(tx, await toolsOfToolkit(tx, toolkit.id));
  await quarantineAll(tx, toolkit.id);
  // No token goes to another server than the one for which it was issued.
  await deleteConnections(tx, toolkit.id);
}

/**
 * Deletes a toolkit that the caller has locked, with its tools; its connections to its server, and values set for its tools, are deleted at once. Throws 409
 * `in_use` while the active revision of an agent binds it or one of its tools.
 */
export async function deleteToolkit(tx: TenantTransaction, toolkit: Toolkit): Promise<void> {
  const usedBy = await agentsBinding(tx, toolkit.id);
  if (usedBy.length > 0)
    throw fail('state_conflict', {
      reason: 'in_use',
      detail: 'The active revision of an agent uses this toolkit or one of its tools.',
      context: { used_by: usedBy },
    });
  await deleteConnections(tx, toolkit.id);
  await dropOwnSecrets(tx, await toolsOfToolkit(tx, toolkit.id));
  await deleteToolkitRows(tx, toolkit.id);
}

/**
 * Takes every tool of a toolkit out of service until an activation approves it again, because its server or its credentials have changed. The result of a sync
 * under way is the former server's and no longer counts. The caller has locked the toolkit.
 */
async function quarantineAll(tx: TenantTransaction, toolkitId: string): Promise<void> {
  await failSyncing(tx, toolkitId, { error: 'The address or the credentials of the toolkit changed during the sync.' });
  const names = (await toolsInForce(tx, toolkitId)).map((tool) => tool.name);
  await quarantineTools(tx, toolkitId, names);
}
