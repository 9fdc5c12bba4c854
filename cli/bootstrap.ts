import { randomBytes } from 'node:crypto';
import type { KeyRing } from '../db/identity/key-ring.ts';
import { hashPassword } from '../db/identity/passwords.ts';
import { newServiceKeyPlaintext } from '../db/identity/service-key-format.ts';
import { newId } from '../db/ids.ts';
import type { Databases } from '../db/databases.ts';
import { Organization } from '../db/tenancy/organization.entity.ts';
import { OrganizationSettings, type EgressAllowance } from '../db/tenancy/organization-settings.entity.ts';
import { Workspace } from '../db/tenancy/workspace.entity.ts';
import { systemActor, transact } from '../db/transaction.ts';
import type { TenantTransaction } from '../db/tenant-transaction.ts';
import { lockBootstrap } from '../db/tenancy/bootstrap-lock.ts';
import { ensureServiceKey, ensureUser, record } from './bootstrap-secrets.ts';
import { firstAgent } from './first-agent.ts';

/** What `.longhaul/access.json` holds: how to reach the deployment as its first people and programs. */
export interface BootstrapAccess {
  readonly base_url: string;
  readonly email: string;
  readonly password: string;
  readonly operator_email: string;
  readonly operator_password: string;
  readonly service_key: string;
  readonly organization_id: string;
  readonly workspace_id: string;
  readonly agent_id: string;
}

export interface BootstrapDeps {
  readonly db: Databases;
  readonly keys: KeyRing;
}

export interface BootstrapOptions {
  /** Origin of the API: the first agent may read it, so it stands on the organization's egress allow-list. */
  readonly publicUrl: string;
  /** Where tools reach the API when that is not its public address (containers): stands on the list, too. */
  readonly internalUrl: string | null;
  readonly defaultModelId: string;
  /** What an earlier bootstrap of this database gave; of another one's it means nothing. */
  readonly known: BootstrapAccess | null;
  /** What new users and the new key get. Those that exist with other secrets, which nobody here knows, are refused. */
  readonly secrets: BootstrapSecrets;
  /** Users and key that exist get new secrets, of which the access tells. */
  readonly resets?: boolean;
}

export interface BootstrapSecrets {
  readonly operatorPassword: string;
  readonly ownerPassword: string;
  readonly serviceKey: string;
}

/** The new access, and whether anything had to be made. */
export interface Bootstrapped {
  readonly access: BootstrapAccess;
  readonly isFirst: boolean;
}

const operatorEmail = 'operator@longhaul.local';
const ownerEmail = 'owner@longhaul.local';
const organizationSlug = 'longhaul';
const workspaceSlug = 'main';

/**
 * Makes what a new deployment needs, each part only when it is missing: an operator, an organization with a workspace and its owner, a
 * service key (admin of the workspace) and the first agent with a web_fetch tool. The agent follows the deployment's default model as
 * long as nobody else has changed it. All in one transaction. What exists keeps its secrets, unless `resets`.
 * @throws SetupError when users or key exist whose secrets are neither known nor the given ones.
 */
export async function bootstrap({ db, keys }: BootstrapDeps, options: BootstrapOptions): Promise<Bootstrapped> {
  const { resets = false, secrets } = options;
  // Once there has been an access, what is made anew gets secrets that nobody has seen.
  const given = resets || options.known ? newSecrets() : secrets;
  // Argon2 takes its time, so it is done before the transaction; unused when the users keep their passwords.
  const hashes = { operator: await hashPassword(given.operatorPassword), owner: await hashPassword(given.ownerPassword) };
  const tenant = { organizationId: null, userId: null, workspaceIds: [], hasAllWorkspaces: false, isOperator: true };

  const { value } = await transact(db, { tenant, actor: systemActor, correlationId: newId() }, (tx) =>
    makeMissing(tx, { keys, options, given, hashes, resets }),
  );

  return value;
}

interface Parts {
  readonly keys: KeyRing;
  readonly options: BootstrapOptions;
  readonly given: BootstrapSecrets;
  readonly hashes: { readonly operator: string; readonly owner: string };
  readonly resets: boolean;
}

async function makeMissing(tx: TenantTransaction, { keys, options, given, hashes, resets }: Parts): Promise<Bootstrapped> {
  const { publicUrl, defaultModelId } = options;

  await lockBootstrap(tx);
  const known = resets ? null : await ofThisDatabase(tx, options.known);
  const operatorPassword = await ensureUser(tx, {
    email: operatorEmail,
    fullName: 'Operator',
    home: { role: 'operator', scope: 'platform', organizationId: null },
    given: { password: given.operatorPassword, hash: hashes.operator },
    known: known?.operator_email === operatorEmail ? known.operator_password : null,
    resets,
  });
  const { organizationId, isNew } = await ensureOrganization(tx, options);
  const workspaceId = await ensureWorkspace(tx, organizationId);
  const ownerPassword = await ensureUser(tx, {
    email: ownerEmail,
    fullName: 'Owner',
    home: { role: 'owner', scope: 'organization', organizationId },
    given: { password: given.ownerPassword, hash: hashes.owner },
    known: known?.email === ownerEmail ? known.password : null,
    resets,
  });
  const access: BootstrapAccess = {
    base_url: publicUrl,
    email: ownerEmail,
    password: ownerPassword,
    operator_email: operatorEmail,
    operator_password: operatorPassword,
    service_key: await ensureServiceKey(tx, {
      keys,
      organizationId,
      workspaceId,
      ownerEmail,
      given: given.serviceKey,
      known: known?.service_key ?? null,
      resets,
    }),
    organization_id: organizationId,
    workspace_id: workspaceId,
    agent_id: await firstAgent(tx, { organizationId, workspaceId, defaultModelId }),
  };

  return { access, isFirst: isNew };
}

// 32 random base64url characters: long enough and far from guessable by the rules for passwords.
function newSecrets(): BootstrapSecrets {
  const password = () => randomBytes(24).toString('base64url');
  return { operatorPassword: password(), ownerPassword: password(), serviceKey: newServiceKeyPlaintext() };
}

/** A folder's access of another deployment knows nothing of this one. */
async function ofThisDatabase(tx: TenantTransaction, known: BootstrapAccess | null): Promise<BootstrapAccess | null> {
  const found = known && (await tx.em.findOne(Organization, { slug: organizationSlug }));
  return known && found?.id === known.organization_id ? known : null;
}

async function ensureOrganization(tx: TenantTransaction, options: BootstrapOptions): Promise<{ organizationId: string; isNew: boolean }> {
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
  await record(tx, 'create', { resourceType: 'organization', resourceId: organizationId, label: organizationSlug, organizationId });
  return { organizationId, isNew: true };
}

// The port may differ from start to start: the entry of the last one goes, so that the list doesn't grow.
async function allowOrigin(tx: TenantTransaction, organizationId: string, options: BootstrapOptions): Promise<void> {
  const settings = await tx.em.findOneOrFail(OrganizationSettings, { organizationId });
  const outdated = options.known ? originEntry(options.known.base_url) : null;
  const isSame = (entry: EgressAllowance, other: EgressAllowance) => entry.host === other.host && entry.port === other.port;

  const wanted = wantedEntries(options);
  const present = settings.egressAllowlist;
  const missing = wanted.filter((entry) => !present.some((other) => isSame(entry, other)));
  if (missing.length === 0) return;
  const kept = present.filter((entry) => !outdated || !isSame(entry, outdated) || wanted.some((other) => isSame(entry, other)));
  settings.egressAllowlist = [...kept, ...missing];
  await tx.em.flush();
  await record(tx, 'update', {
    resourceType: 'organization_settings',
    resourceId: organizationId,
    organizationId,
    changes: { egress_allowlist: { to: settings.egressAllowlist } },
  });
}

function wantedEntries({ publicUrl, internalUrl }: BootstrapOptions): EgressAllowance[] {
  return [publicUrl, ...(internalUrl === null ? [] : [internalUrl])].map(originEntry);
}

function originEntry(publicUrl: string): EgressAllowance {
  const url = new URL(publicUrl);
  const isPlain = url.protocol === 'http:';

  return { host: url.hostname, port: url.port === '' ? (isPlain ? 80 : 443) : Number(url.port), allow_http: isPlain };
}

async function ensureWorkspace(tx: TenantTransaction, organizationId: string): Promise<string> {
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
  await record(tx, 'create', {
    resourceType: 'workspace',
    resourceId: workspace.id,
    label: workspaceSlug,
    organizationId,
    workspaceId: workspace.id,
  });
  return workspace.id;
}
