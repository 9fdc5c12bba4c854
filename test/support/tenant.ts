import { randomBytes } from 'node:crypto';
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { newId } from '../../db/ids.ts';
import type { KeyRing } from '../../db/key-ring.ts';
import { hashPassword } from '../../db/identity/factors/passwords.ts';
import { newServiceKeyPlaintext, serviceKeyHash, shownEnds } from '../../db/identity/keys/service-key-format.ts';
import { createSessionTokens, type SessionTokens } from '../../domain/identity/sessions/session-tokens.ts';
import { createSigningKeys } from '../../domain/identity/keys/signing-keys.ts';
import type { Databases } from '../../db/databases.ts';
import { change } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import type { EgressAllowance } from '../../db/tenancy/organizations/organization-settings.entity.ts';
import type { Role, Scope } from '../../workflows/contracts/access.ts';

/** PUBLIC_URL of the API under test: issuer and audience of the tokens made here. */
export const testPublicUrl = 'http://longhaul.test';

/** What every user made here signs in with. */
export const testPassword = 'correct horse battery staple';

export interface TestUser {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  readonly scope: Scope;
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
  readonly sessionId: string;
  /** Access token of that session. */
  readonly token: string;
}

export interface TestServiceKey {
  readonly id: string;
  readonly plaintext: string;
}

export interface TestTenant {
  readonly organizationId: string;
  /** The first workspace: home of the users by role and of the key. */
  readonly workspaceId: string;
  readonly workspaceIds: readonly string[];
  /** Workspace-scoped users of the first workspace; `operator` is of the platform. */
  readonly users: Readonly<Record<Role, TestUser>>;
  /** Access tokens of the same. */
  readonly tokens: Readonly<Record<Role, string>>;
  /** Organization-scoped owner and admin. */
  readonly organizationOwner: TestUser;
  readonly organizationAdmin: TestUser;
  /** Of the first workspace, role admin, every scope; made by the organization's owner. */
  readonly serviceKey: TestServiceKey;
}

export interface TenantOptions {
  readonly workspaces?: number;
  readonly requireMfa?: boolean;
  readonly egressAllowlist?: readonly EgressAllowance[];
  readonly publicUrl?: string;
}

/** A tenant of its own for one test, written as rows: one of each role, a key, and a token for everybody. */
export async function makeTenant(db: Databases, keys: KeyRing, options: TenantOptions = {}): Promise<TestTenant> {
  const organizationId = newId();
  const workspaceIds = Array.from({ length: options.workspaces ?? 1 }, () => newId());
  const [workspaceId = ''] = workspaceIds;
  const inWorkspace = (role: Role) => draftUser({ role, scope: 'workspace', organizationId, workspaceId });
  const drafts = {
    viewer: inWorkspace('viewer'),
    member: inWorkspace('member'),
    admin: inWorkspace('admin'),
    owner: inWorkspace('owner'),
    operator: draftUser({ role: 'operator', scope: 'platform', organizationId: null, workspaceId: null }),
    organizationOwner: draftUser({ role: 'owner', scope: 'organization', organizationId, workspaceId: null }),
    organizationAdmin: draftUser({ role: 'admin', scope: 'organization', organizationId, workspaceId: null }),
  };
  const key = draftKey();

  await sweep(db, async (em) => {
    await insertOrganization(em, { organizationId, workspaceIds, options });
    await insertUsers(em, Object.values(drafts));
    await insertKey(em, { keys, key, organizationId, workspaceId, creatorId: drafts.organizationOwner.id });
  });
  const withToken = (draft: UserDraft) => issueToken(db, keys, draft, options.publicUrl);
  const [viewer, member, admin, owner, operator, organizationOwner, organizationAdmin] = await Promise.all([
    withToken(drafts.viewer),
    withToken(drafts.member),
    withToken(drafts.admin),
    withToken(drafts.owner),
    withToken(drafts.operator),
    withToken(drafts.organizationOwner),
    withToken(drafts.organizationAdmin),
  ]);
  const users = { viewer, member, admin, owner, operator };
  const tokens = { viewer: viewer.token, member: member.token, admin: admin.token, owner: owner.token, operator: operator.token };

  return { organizationId, workspaceId, workspaceIds, users, tokens, organizationOwner, organizationAdmin, serviceKey: key };
}

/** One more user of a tenant. */
export async function makeUser(
  db: Databases,
  keys: KeyRing,
  place: { role: Role; scope: Scope; organizationId: string | null; workspaceId: string | null },
): Promise<TestUser> {
  const draft = draftUser(place);

  await sweep(db, (em) => insertUsers(em, [draft]));
  return issueToken(db, keys, draft);
}

/** A further session of a user, with its access token. */
export async function tokenFor(
  db: Databases,
  keys: KeyRing,
  user: Omit<UserDraft, 'sessionId'>,
): Promise<{ sessionId: string; token: string }> {
  const draft = { ...user, sessionId: newId() };

  await sweep(db, (em) => insertSessions(em, [draft]));
  const { token } = await issueToken(db, keys, draft);

  return { sessionId: draft.sessionId, token };
}

/** Headers of a request with a bearer credential: an access token, or a service key. */
export function bearer(credential: string): { authorization: string } {
  return { authorization: `Bearer ${credential}` };
}

type UserDraft = Omit<TestUser, 'token'>;

function draftUser(place: { role: Role; scope: Scope; organizationId: string | null; workspaceId: string | null }): UserDraft {
  return { id: newId(), email: `${place.role}-${randomBytes(6).toString('hex')}@example.test`, sessionId: newId(), ...place };
}

function draftKey(): TestServiceKey {
  return { id: newId(), plaintext: newServiceKeyPlaintext() };
}

// One argon2 run for all users of a process: hashing one for each would be most of a test's time.
let sharedHash: Promise<string> | null = null;

async function insertOrganization(
  em: SqlEntityManager,
  { organizationId, workspaceIds, options }: { organizationId: string; workspaceIds: readonly string[]; options: TenantOptions },
): Promise<void> {
  const slug = `t-${organizationId.slice(-12)}`;

  await change(em, 'insert into organizations (id, name, slug) values (?, ?, ?)', [organizationId, `Tenant ${slug}`, slug]);
  await change(em, 'insert into organization_settings (organization_id, require_mfa, egress_allowlist) values (?, ?, ?::jsonb)', [
    organizationId,
    options.requireMfa ?? false,
    JSON.stringify(options.egressAllowlist ?? []),
  ]);
  await change(
    em,
    `insert into workspaces (id, organization_id, slug, name)
    select w.id, ?::uuid, 'w' || w.n, 'Workspace ' || w.n from unnest(?::uuid[]) with ordinality as w (id, n)`,
    [organizationId, workspaceIds],
  );
}

async function insertUsers(em: SqlEntityManager, users: readonly UserDraft[]): Promise<void> {
  sharedHash ??= hashPassword(testPassword);
  const hash = await sharedHash;

  await change(
    em,
    `insert into users (id, email, full_name, role, scope, organization_id, workspace_id)
    select id, email, null, role, scope, "organizationId", "workspaceId"
    from jsonb_to_recordset(?::jsonb) as u (id uuid, email text, role text, scope text, "organizationId" uuid, "workspaceId" uuid)`,
    [JSON.stringify(users)],
  );
  await change(
    em,
    `insert into user_credentials (user_id, organization_id, password_hash, email_verified_at)
    select id, "organizationId", ?, now() from jsonb_to_recordset(?::jsonb) as u (id uuid, "organizationId" uuid)`,
    [hash, JSON.stringify(users)],
  );
  await insertSessions(em, users);
}

async function insertSessions(em: SqlEntityManager, users: readonly UserDraft[]): Promise<void> {
  await change(
    em,
    `insert into sessions (id, user_id, organization_id, workspace_id, user_agent, ip_truncated, verified_at, last_seen_at, idle_expires_at, expires_at)
    select "sessionId", id, "organizationId", "workspaceId", 'test', '127.0.0.0/24', now(), now(), now() + interval '14 days', now() + interval '90 days'
    from jsonb_to_recordset(?::jsonb) as u (id uuid, "sessionId" uuid, "organizationId" uuid, "workspaceId" uuid)`,
    [JSON.stringify(users)],
  );
}

async function insertKey(
  em: SqlEntityManager,
  row: { keys: KeyRing; key: TestServiceKey; organizationId: string; workspaceId: string; creatorId: string },
): Promise<void> {
  const { prefix, last4 } = shownEnds(row.key.plaintext);

  await change(
    em,
    `insert into service_keys (id, organization_id, workspace_id, scope, name, role, scopes, prefix, last4, key_hash, created_by_user_id)
    values (?, ?, ?, 'workspace', 'test key', 'admin', array['*'], ?, ?, ?, ?)`,
    [row.key.id, row.organizationId, row.workspaceId, prefix, last4, serviceKeyHash(row.key.plaintext, row.keys.peppers), row.creatorId],
  );
}

// The signing keys of a database are made once and live as long as its handle.
const signers = new WeakMap<Databases, Map<string, Promise<SessionTokens>>>();

async function issueToken(db: Databases, keys: KeyRing, user: UserDraft, publicUrl: string = testPublicUrl): Promise<TestUser> {
  const byUrl = signers.get(db) ?? new Map<string, Promise<SessionTokens>>();
  const tokens = byUrl.get(publicUrl) ?? makeSigner(db, keys, publicUrl);

  signers.set(db, byUrl.set(publicUrl, tokens));
  const { token } = await (await tokens).issue({ userId: user.id, sessionId: user.sessionId });

  return { ...user, token };
}

async function makeSigner(db: Databases, keys: KeyRing, publicUrl: string): Promise<SessionTokens> {
  const now = () => new Date();
  const signingKeys = createSigningKeys({ db, keys, now });

  await signingKeys.ensure();
  // From later today: on a busy machine tests take longer than a token lives.
  const later = () => new Date(Date.now() + 6 * 3_600_000);
  return createSessionTokens({ signingKeys, publicUrl, now: later });
}
