import { randomBytes } from 'node:crypto';
import { writeAudit, type AuditSubject } from '../db/audit/audit.ts';
import type { KeyRing } from '../db/identity/key-ring.ts';
import { hashPassword } from '../db/identity/passwords.ts';
import { ServiceKey } from '../db/identity/service-key.entity.ts';
import { newServiceKeyPlaintext, serviceKeyHash, serviceKeyHashes, shownEnds } from '../db/identity/service-key-format.ts';
import { UserCredential } from '../db/identity/user-credential.entity.ts';
import { newId } from '../db/ids.ts';
import type { Databases } from '../db/orm.ts';
import { Organization } from '../db/tenancy/organization.entity.ts';
import { OrganizationSettings, type EgressAllowance } from '../db/tenancy/organization-settings.entity.ts';
import { User } from '../db/tenancy/user.entity.ts';
import { Workspace } from '../db/tenancy/workspace.entity.ts';
import { systemActor, transact } from '../db/transaction.ts';
import type { Unit } from '../db/unit.ts';
import { lockBootstrap } from '../db/tenancy/bootstrap-lock.ts';
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
  readonly defaultModelId: string;
  /** What an earlier bootstrap gave; without it lost passwords and the key are made anew. */
  readonly known: BootstrapAccess | null;
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
const keyName = 'bootstrap';

/**
 * Makes what a new deployment needs, each part only when it is missing: an operator, an organization with a workspace and its owner, a
 * service key (admin of the workspace) and the first agent with a web_fetch tool. The agent follows the deployment's default model as
 * long as nobody else has changed it. All in one transaction.
 */
export async function bootstrap({ db, keys }: BootstrapDeps, options: BootstrapOptions): Promise<Bootstrapped> {
  // Argon2 takes its time, so it is done before the transaction; unused when the users keep their passwords.
  const secrets = { operator: await newSecret(), owner: await newSecret() };
  const tenant = { organizationId: null, userId: null, workspaceIds: [], hasAllWorkspaces: false, isOperator: true };

  const { value } = await transact(db, { tenant, actor: systemActor, correlationId: newId() }, (unit) =>
    makeMissing(unit, { keys, options, secrets }),
  );

  return value;
}

interface Parts {
  readonly keys: KeyRing;
  readonly options: BootstrapOptions;
  readonly secrets: { readonly operator: Secret; readonly owner: Secret };
}

async function makeMissing(unit: Unit, { keys, options, secrets }: Parts): Promise<Bootstrapped> {
  const { known, publicUrl, defaultModelId } = options;

  await lockBootstrap(unit);
  const operatorPassword = await ensureUser(unit, {
    email: operatorEmail,
    fullName: 'Operator',
    home: { role: 'operator', scope: 'platform', organizationId: null },
    secret: secrets.operator,
    knownPassword: known?.operator_email === operatorEmail ? known.operator_password : null,
  });
  const { organizationId, isNew } = await ensureOrganization(unit, options);
  const workspaceId = await ensureWorkspace(unit, organizationId);
  const ownerPassword = await ensureUser(unit, {
    email: ownerEmail,
    fullName: 'Owner',
    home: { role: 'owner', scope: 'organization', organizationId },
    secret: secrets.owner,
    knownPassword: known?.email === ownerEmail ? known.password : null,
  });
  const access: BootstrapAccess = {
    base_url: publicUrl,
    email: ownerEmail,
    password: ownerPassword,
    operator_email: operatorEmail,
    operator_password: operatorPassword,
    service_key: await ensureServiceKey(unit, { keys, organizationId, workspaceId, known: known?.service_key ?? null }),
    organization_id: organizationId,
    workspace_id: workspaceId,
    agent_id: await firstAgent(unit, { organizationId, workspaceId, defaultModelId }),
  };

  return { access, isFirst: isNew };
}

interface Secret {
  readonly password: string;
  readonly hash: string;
}

// 32 random base64url characters: long enough and far from guessable by the rules for passwords.
async function newSecret(): Promise<Secret> {
  const password = randomBytes(24).toString('base64url');

  return { password, hash: await hashPassword(password) };
}

interface WantedUser {
  readonly email: string;
  readonly fullName: string;
  readonly home: {
    readonly role: 'operator' | 'owner';
    readonly scope: 'platform' | 'organization';
    readonly organizationId: string | null;
  };
  readonly secret: Secret;
  readonly knownPassword: string | null;
}

/** Gives the password: the known one, or a new one when the user is new or the old one is lost. */
async function ensureUser(unit: Unit, { email, fullName, home, secret, knownPassword }: WantedUser): Promise<string> {
  const existing = await unit.em.findOne(User, { email, deletedAt: null });

  if (existing && knownPassword !== null) return knownPassword;
  const user =
    existing ??
    unit.em.create(User, {
      id: newId(),
      email,
      fullName,
      ...home,
      workspaceId: null,
      locale: null,
      lastLoginAt: null,
      deactivatedAt: null,
      deletedAt: null,
    });
  const credential = existing ? await unit.em.findOne(UserCredential, { userId: user.id }) : null;

  if (credential) {
    credential.passwordHash = secret.hash;
    credential.passwordChangedAt = new Date();
  } else {
    const { organizationId } = home;

    unit.em.create(UserCredential, {
      userId: user.id,
      organizationId,
      passwordHash: secret.hash,
      emailVerifiedAt: new Date(),
      pendingEmail: null,
    });
  }
  await unit.em.flush();
  await record(unit, existing ? 'update' : 'create', {
    resourceType: 'user',
    resourceId: user.id,
    organizationId: home.organizationId,
    changes: existing ? { password: { changed: true } } : { role: { to: home.role } },
  });
  return secret.password;
}

async function ensureOrganization(unit: Unit, options: BootstrapOptions): Promise<{ organizationId: string; isNew: boolean }> {
  const existing = await unit.em.findOne(Organization, { slug: organizationSlug });

  if (existing) {
    await allowOrigin(unit, existing.id, options);
    return { organizationId: existing.id, isNew: false };
  }
  const organizationId = newId();

  unit.em.create(Organization, {
    id: organizationId,
    name: 'Longhaul',
    slug: organizationSlug,
    suspendedAt: null,
    suspendedReason: null,
    deleteAfter: null,
    purgedAt: null,
  });
  unit.em.create(OrganizationSettings, { organizationId, runRetentionDays: null, egressAllowlist: [originEntry(options.publicUrl)] });
  await unit.em.flush();
  await record(unit, 'create', { resourceType: 'organization', resourceId: organizationId, label: organizationSlug, organizationId });
  return { organizationId, isNew: true };
}

// The port may differ from start to start: the entry of the last one goes, so that the list doesn't grow.
async function allowOrigin(unit: Unit, organizationId: string, { publicUrl, known }: BootstrapOptions): Promise<void> {
  const settings = await unit.em.findOneOrFail(OrganizationSettings, { organizationId });
  const wanted = originEntry(publicUrl);
  const outdated = known ? originEntry(known.base_url) : null;
  const isSame = (entry: EgressAllowance, other: EgressAllowance) => entry.host === other.host && entry.port === other.port;

  if (settings.egressAllowlist.some((entry) => isSame(entry, wanted))) return;
  settings.egressAllowlist = [...settings.egressAllowlist.filter((entry) => !outdated || !isSame(entry, outdated)), wanted];
  await unit.em.flush();
  await record(unit, 'update', {
    resourceType: 'organization_settings',
    resourceId: organizationId,
    organizationId,
    changes: { egress_allowlist: { to: settings.egressAllowlist } },
  });
}

function originEntry(publicUrl: string): EgressAllowance {
  const url = new URL(publicUrl);
  const isPlain = url.protocol === 'http:';

  return { host: url.hostname, port: url.port === '' ? (isPlain ? 80 : 443) : Number(url.port), allow_http: isPlain };
}

async function ensureWorkspace(unit: Unit, organizationId: string): Promise<string> {
  const existing = await unit.em.findOne(Workspace, { organizationId, slug: workspaceSlug });

  if (existing) return existing.id;
  const workspace = unit.em.create(Workspace, {
    id: newId(),
    organizationId,
    slug: workspaceSlug,
    name: 'Main',
    description: null,
    archivedAt: null,
    purgeAfter: null,
  });

  await unit.em.flush();
  await record(unit, 'create', {
    resourceType: 'workspace',
    resourceId: workspace.id,
    label: workspaceSlug,
    organizationId,
    workspaceId: workspace.id,
  });
  return workspace.id;
}

interface WantedKey {
  readonly keys: KeyRing;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly known: string | null;
}

/** Gives the plaintext: the known one while it works, else that of a new key, or of the earlier one rotated. */
async function ensureServiceKey(unit: Unit, { keys, organizationId, workspaceId, known }: WantedKey): Promise<string> {
  const live = await unit.em.findOne(ServiceKey, { name: keyName, workspaceId, revokedAt: null }, { orderBy: { id: 'asc' } });

  if (known && live && serviceKeyHashes(known, keys.peppers).some((hash) => live.keyHash.equals(hash))) return known;
  const plaintext = newServiceKeyPlaintext();
  const secret = { ...shownEnds(plaintext), keyHash: serviceKeyHash(plaintext, keys.peppers) };
  const key = live ?? unit.em.create(ServiceKey, { ...(await newKey(unit, { organizationId, workspaceId })), ...secret });

  if (live) Object.assign(live, secret, { rotatedAt: new Date() });
  await unit.em.flush();
  await record(unit, live ? 'update' : 'create', {
    resourceType: 'service_key',
    resourceId: key.id,
    label: keyName,
    organizationId,
    workspaceId,
  });
  return plaintext;
}

async function newKey(unit: Unit, home: { organizationId: string; workspaceId: string }) {
  const owner = await unit.em.findOneOrFail(User, { email: ownerEmail, deletedAt: null });
  const never = { expiresAt: null, lastUsedAt: null, rotatedAt: null, revokedAt: null };

  return { id: newId(), ...home, scope: 'workspace' as const, name: keyName, role: 'admin' as const, createdByUserId: owner.id, ...never };
}

async function record(unit: Unit, action: 'create' | 'update', note: AuditSubject): Promise<void> {
  await writeAudit(unit, { action, operationId: null, note, ip: null, userAgent: null });
}
