import { randomBytes } from 'node:crypto';
import type { KeyRing } from '../db/key-ring.ts';
import { hashPassword } from '../db/identity/factors/passwords.ts';
import { newServiceKeyPlaintext } from '../db/identity/keys/service-key-format.ts';
import { newId } from '../db/ids.ts';
import type { Databases } from '../db/databases.ts';
import { Organization } from '../db/tenancy/organizations/organization.entity.ts';
import { systemActor, transact } from '../db/transaction.ts';
import type { TenantTransaction } from '../db/tenant-transaction.ts';
import { lockBootstrap } from '../db/tenancy/organizations/organizations.ts';
import { ensureServiceKey, ensureUser, UnknownSecretError } from '../domain/identity/people/bootstrap.ts';
import { SetupError } from './setup-error.ts';
import { firstAgent } from './first-agent.ts';
import { ensureOrganization, ensureWorkspace, organizationSlug } from '../domain/tenancy/bootstrap.ts';

/** The content of `.longhaul/access.json`: how the first people and programs reach the deployment. */
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
  /** Origin of the API. The first agent may read it, so it is on the organization's egress allow-list. */
  readonly publicUrl: string;
  /** Where tools reach the API if that is not its public address (containers); also on the egress allow-list. */
  readonly internalUrl: string | null;
  readonly defaultModelId: string;
  /** The result of an earlier bootstrap of this database; ignored if it belongs to another database. */
  readonly known: BootstrapAccess | null;
  /** Secrets for new users and the new key. Existing ones with other, unknown secrets are refused. */
  readonly secrets: BootstrapSecrets;
  /** Existing users and an existing key get new secrets, which the access contains. */
  readonly resets?: boolean;
}

export interface BootstrapSecrets {
  readonly operatorPassword: string;
  readonly ownerPassword: string;
  readonly serviceKey: string;
}

/** The new access, and whether anything had to be created. */
export interface Bootstrapped {
  readonly access: BootstrapAccess;
  readonly isFirst: boolean;
}

const operatorEmail = 'operator@longhaul.local';
const ownerEmail = 'owner@longhaul.local';

/**
 * Creates what a new deployment needs, each part only if it is missing: an operator, an organization with a workspace and its owner, a
 * service key (admin of the workspace) and the first agent with a web_fetch tool. The agent follows the deployment's default model as
 * long as no one else has changed it. Runs in one transaction. What exists keeps its secrets, unless `resets`.
 * @throws SetupError if users or a key exist whose secrets are neither known nor the given ones.
 */
export async function bootstrap({ db, keys }: BootstrapDeps, options: BootstrapOptions): Promise<Bootstrapped> {
  const { resets = false, secrets } = options;
  // Once there has been an access, whatever is created again gets fresh secrets.
  const given = resets || options.known ? newSecrets() : secrets;
  // Argon2 is slow, so it runs before the transaction; unused if the users keep their passwords.
  const hashes = { operator: await hashPassword(given.operatorPassword), owner: await hashPassword(given.ownerPassword) };
  const tenant = { organizationId: null, userId: null, workspaceIds: [], hasAllWorkspaces: false, isOperator: true };

  const { value } = await transact(db, { tenant, actor: systemActor, correlationId: newId() }, (tx) =>
    makeMissing(tx, { keys, options, given, hashes, resets }),
  ).catch(asSetupError);

  return value;
}

/** The one fault that the person at the keyboard can mend. */
function asSetupError(error: unknown): never {
  if (!(error instanceof UnknownSecretError)) throw error;
  throw new SetupError(
    `This database already has ${error.what}, but this state folder does not know its secret. ` +
      'Run this with the state folder in which the deployment was created (LONGHAUL_STATE_DIR; it contains access.json). ' +
      '`longhaul bootstrap --reset-access` gives the owner, the operator and the bootstrap key new secrets; the old ones then stop working.',
  );
}

interface Missing {
  readonly keys: KeyRing;
  readonly options: BootstrapOptions;
  readonly given: BootstrapSecrets;
  readonly hashes: { readonly operator: string; readonly owner: string };
  readonly resets: boolean;
}

async function makeMissing(tx: TenantTransaction, { keys, options, given, hashes, resets }: Missing): Promise<Bootstrapped> {
  const { publicUrl, defaultModelId } = options;

  await lockBootstrap(tx);
  const at = new Date();
  const known = resets ? null : await ofThisDatabase(tx, options.known);
  const operatorPassword = await ensureUser(tx, {
    email: operatorEmail,
    fullName: 'Operator',
    rowScope: { role: 'operator', scope: 'platform', organizationId: null },
    given: { password: given.operatorPassword, hash: hashes.operator },
    known: known?.operator_email === operatorEmail ? known.operator_password : null,
    resets,
    at,
  });
  const { organizationId, isNew } = await ensureOrganization(tx, {
    publicUrl,
    internalUrl: options.internalUrl,
    formerUrl: options.known?.base_url ?? null,
  });
  const workspaceId = await ensureWorkspace(tx, organizationId);
  const ownerPassword = await ensureUser(tx, {
    email: ownerEmail,
    fullName: 'Owner',
    rowScope: { role: 'owner', scope: 'organization', organizationId },
    given: { password: given.ownerPassword, hash: hashes.owner },
    known: known?.email === ownerEmail ? known.password : null,
    resets,
    at,
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
      at,
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

/** Returns null for an access in the folder that belongs to another deployment. */
async function ofThisDatabase(tx: TenantTransaction, known: BootstrapAccess | null): Promise<BootstrapAccess | null> {
  const found = known && (await tx.em.findOne(Organization, { slug: organizationSlug }));
  return known && found?.id === known.organization_id ? known : null;
}
