import { newId } from '../../db/ids.ts';
import { Organization } from '../../db/tenancy/organizations/organization.entity.ts';
import { OrganizationSettings, type EgressAllowance } from '../../db/tenancy/organizations/organization-settings.entity.ts';
import { Workspace } from '../../db/tenancy/workspaces/workspace.entity.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { recordChange } from '../audit/record.ts';

export const organizationSlug = 'longhaul';
const workspaceSlug = 'main';

/** The origins at which tools reach the API. */
interface ReachedOrigins {
  readonly publicUrl: string;
  readonly internalUrl: string | null;
  /** The public origin of the last start; null: there was none. */
  readonly formerUrl: string | null;
}

/** Creates the first organization when it is missing; its egress allow-list contains the origins of its API. */
export async function ensureOrganization(
  tx: TenantTransaction,
  options: ReachedOrigins,
): Promise<{ organizationId: string; isNew: boolean }> {
  const existing = await tx.em.findOne(Organization, { slug: organizationSlug });

  if (existing) {
    await allowOrigin(tx, existing.id, options);
    return { organizationId: existing.id, isNew: false };
  }
  const organizationId = newId();

  tx.em.create(Organization, {
    id: organizationId,
    name: 'Longhaul',
    slug: organizationSlug,
    suspendedAt: null,
    suspendedReason: null,
    deleteAfter: null,
    purgedAt: null,
  });
  tx.em.create(OrganizationSettings, { organizationId, runRetentionDays: null, egressAllowlist: wantedEntries(options) });
  await tx.em.flush();
  await recordChange(tx, {
    action: 'create',
    note: { resourceType: 'organization', resourceId: organizationId, label: organizationSlug, organizationId },
  });
  return { organizationId, isNew: true };
}

// The port may differ from start to start: the entry of the last start is removed, so that the list doesn't grow.
async function allowOrigin(tx: TenantTransaction, organizationId: string, options: ReachedOrigins): Promise<void> {
  const settings = await tx.em.findOneOrFail(OrganizationSettings, { organizationId });
  const outdated = options.formerUrl === null ? null : originEntry(options.formerUrl);
  const isSame = (entry: EgressAllowance, other: EgressAllowance) => entry.host === other.host && entry.port === other.port;

  const wanted = wantedEntries(options);
  const present = settings.egressAllowlist;
  const missing = wanted.filter((entry) => !present.some((other) => isSame(entry, other)));
  if (missing.length === 0) return;
  const kept = present.filter((entry) => !outdated || !isSame(entry, outdated) || wanted.some((other) => isSame(entry, other)));
  settings.egressAllowlist = [...kept, ...missing];
  await tx.em.flush();
  await recordChange(tx, {
    action: 'update',
    note: {
      resourceType: 'organization_settings',
      resourceId: organizationId,
      organizationId,
      changes: { egress_allowlist: { to: settings.egressAllowlist } },
    },
  });
}

function wantedEntries({ publicUrl, internalUrl }: ReachedOrigins): EgressAllowance[] {
  return [publicUrl, ...(internalUrl === null ? [] : [internalUrl])].map(originEntry);
}

function originEntry(publicUrl: string): EgressAllowance {
  const url = new URL(publicUrl);
  const isPlain = url.protocol === 'http:';

  return { host: url.hostname, port: url.port === '' ? (isPlain ? 80 : 443) : Number(url.port), allow_http: isPlain };
}

/** Creates the first workspace of an organization when it is missing; returns its id. */
export async function ensureWorkspace(tx: TenantTransaction, organizationId: string): Promise<string> {
  const existing = await tx.em.findOne(Workspace, { organizationId, slug: workspaceSlug });

  if (existing) return existing.id;
  const workspace = tx.em.create(Workspace, {
    id: newId(),
    organizationId,
    slug: workspaceSlug,
    name: 'Main',
    description: null,
    archivedAt: null,
    purgeAfter: null,
  });

  await tx.em.flush();
  await recordChange(tx, {
    action: 'create',
    note: {
      resourceType: 'workspace',
      resourceId: workspace.id,
      label: workspaceSlug,
      organizationId,
      workspaceId: workspace.id,
    },
  });
  return workspace.id;
}
