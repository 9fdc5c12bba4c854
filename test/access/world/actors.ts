import { hashPassword } from '../../../db/identity/factors/passwords.ts';
import { newServiceKeyPlaintext, serviceKeyHash, shownEnds } from '../../../db/identity/keys/service-key-format.ts';
import { createSessionTokens } from '../../../domain/identity/sessions/session-tokens.ts';
import { createSigningKeys } from '../../../domain/identity/keys/signing-keys.ts';
import type { Role } from '../../../workflows/contracts/access.ts';
import { bearer, testPassword, testPublicUrl, tokenFor } from '../../support/tenant.ts';
import { canary, platform, type Place, type WorkspacePlace } from './places.ts';
import type { Rows, WorldBase } from './rows.ts';

/** Where a request is made: A with its first two workspaces, or a copy of them that may be used up; and the other organization. */
export interface Ground {
  readonly organization: Place & { readonly organizationId: string };
  readonly home: WorkspacePlace;
  readonly second: WorkspacePlace;
  /** Home of whoever works in the first workspace by grant alone; it has no rows of its own. */
  readonly guests: WorkspacePlace;
  readonly foreign: Place & { readonly organizationId: string };
  readonly foreignHome: WorkspacePlace;
}

/** One of the thirteen who try every operation; the operator counts twice. */
export interface ActorSpec {
  readonly name: string;
  readonly kind: 'nobody' | 'expired' | 'user' | 'key' | 'operator';
  readonly role: Role | null;
  /** Where the actor is at home: whose rows are its own. */
  readonly place: (ground: Ground) => Place;
  /** What it may see: `a1` alone, all of `a`, another workspace, as a viewer by grant `a1`, another organization, everything. */
  readonly sight: 'nothing' | 'home' | 'organization' | 'second' | 'granted' | 'foreign' | 'everything';
}

const home = (ground: Ground) => ground.home;
const organization = (ground: Ground) => ground.organization;
const inHome = (name: string, role: Role): ActorSpec => ({ name, kind: 'user', role, place: home, sight: 'home' });

/** Whoever asks in the access tests. */
export const actorSpecs: readonly ActorSpec[] = [
  { name: 'nobody', kind: 'nobody', role: null, place: home, sight: 'nothing' },
  { name: 'expired', kind: 'expired', role: 'owner', place: home, sight: 'nothing' },
  inHome('viewer A1', 'viewer'),
  inHome('member A1', 'member'),
  inHome('admin A1', 'admin'),
  inHome('owner A1', 'owner'),
  { name: 'admin A', kind: 'user', role: 'admin', place: organization, sight: 'organization' },
  { name: 'owner A', kind: 'user', role: 'owner', place: organization, sight: 'organization' },
  { name: 'member A2', kind: 'user', role: 'member', place: (ground) => ground.second, sight: 'second' },
  // Above viewer at home only: whatever lies in A1 is judged by the grant there.
  { name: 'admin A4, viewer A1', kind: 'user', role: 'admin', place: (ground) => ground.guests, sight: 'granted' },
  { name: 'owner B', kind: 'user', role: 'owner', place: (ground) => ground.foreign, sight: 'foreign' },
  { name: 'key A1', kind: 'key', role: 'admin', place: home, sight: 'home' },
  { name: 'operator', kind: 'operator', role: 'operator', place: home, sight: 'everything' },
  { name: 'operator in A', kind: 'operator', role: 'operator', place: organization, sight: 'organization' },
];

/** An actor with the headers of its requests. */
export interface Actor extends ActorSpec {
  readonly headers: Readonly<Record<string, string>>;
  readonly userId: string | null;
  readonly sessionId: string | null;
  readonly home: Place;
}

interface Made {
  readonly headers: Readonly<Record<string, string>>;
  readonly userId: string | null;
  readonly sessionId: string | null;
}

const nobody: Made = { headers: {}, userId: null, sessionId: null };
let sharedHash: Promise<string> | null = null;

/** Makes an actor with a user, a session or a key of its own, so that whatever it does hinders nobody else. */
export async function makeActor(base: WorldBase, rows: Rows, { spec, ground }: { spec: ActorSpec; ground: Ground }): Promise<Actor> {
  const place = spec.place(ground);
  return { ...spec, home: place, ...(await credentialOf(base, rows, { spec, ground, place })) };
}

async function credentialOf(
  base: WorldBase,
  rows: Rows,
  { spec, ground, place }: { spec: ActorSpec; ground: Ground; place: Place },
): Promise<Made> {
  switch (spec.kind) {
    case 'nobody':
      return nobody;
    case 'key':
      return keyOf(base, rows, place);
    case 'operator': {
      const made = await signedIn(base, rows, { place: platform, role: 'operator' });
      const view = { 'x-view-organization': ground.organization.organizationId };
      return spec.sight === 'everything' ? made : { ...made, headers: { ...made.headers, ...view } };
    }
    case 'expired': {
      const { userId, sessionId } = await signedIn(base, rows, { place, role: 'owner' });
      return { ...nobody, headers: bearer(await expiredToken(base, userId, sessionId)) };
    }
    case 'user': {
      const made = await signedIn(base, rows, { place, role: spec.role ?? 'viewer' });
      if (spec.sight === 'granted') await rows.make('workspace_grants', ground.home, { user_id: made.userId, role: 'viewer' });
      return made;
    }
    default:
      return spec.kind satisfies never;
  }
}

/** A user with a verified address and the password of all tests, in a fresh session. */
export async function signedIn(
  base: WorldBase,
  rows: Rows,
  { place, role }: { place: Place; role: Role },
): Promise<{ headers: Readonly<Record<string, string>>; userId: string; sessionId: string }> {
  const userId = await makeUser(rows, { place, role });
  const { sessionId, token } = await tokenFor(base.db, base.keys, {
    id: userId,
    email: '',
    role,
    scope: place.scope,
    organizationId: place.organizationId,
    workspaceId: place.workspaceId,
  });
  return { headers: bearer(token), userId, sessionId };
}

/** A user who can sign in; gives the id. */
export async function makeUser(rows: Rows, { place, role }: { place: Place; role: Role }): Promise<string> {
  sharedHash ??= hashPassword(testPassword);
  // Made long ago: only so many may be made in a day.
  const user = await rows.make('users', place, { role, created_at: new Date(Date.now() - 7 * 86_400_000) });
  const credentials = { user_id: user['id'], password_hash: await sharedHash, pending_email: null };
  await rows.make('user_credentials', { ...place, scope: 'organization', workspaceId: null }, credentials);
  return String(user['id']);
}

async function keyOf(base: WorldBase, rows: Rows, place: Place): Promise<Made> {
  const plaintext = newServiceKeyPlaintext();
  const maker = await makeUser(rows, {
    place: { ...place, name: place.name.charAt(0), scope: 'organization', workspaceId: null },
    role: 'owner',
  });
  await rows.make('service_keys', place, {
    ...shownEnds(plaintext),
    role: 'admin',
    name: canary(place, 'service_keys', 'name'),
    key_hash: serviceKeyHash(plaintext, base.keys.peppers),
    created_by_user_id: maker,
  });
  return { ...nobody, headers: bearer(plaintext) };
}

async function expiredToken(base: WorldBase, userId: string, sessionId: string): Promise<string> {
  const anHourAgo = () => new Date(Date.now() - 3_600_000);
  const signingKeys = createSigningKeys({ db: base.db, keys: base.keys, now: () => new Date() });
  await signingKeys.ensure();
  return (await createSessionTokens({ signingKeys, publicUrl: testPublicUrl, now: anHourAgo }).issue({ userId, sessionId })).token;
}
