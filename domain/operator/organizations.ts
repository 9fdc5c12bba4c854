import type { KeyRing } from '../../db/key-ring.ts';
import { normalizeEmail } from '../../db/identity/people/people.ts';
import { newId } from '../../db/ids.ts';
import { insertOrganization, isAddressTaken, setActive, setDeleting, setSuspended } from '../../db/operator/organizations.ts';
import { isPurged, type PurgeRow } from '../../db/operator/purges.ts';
import type { Changing } from '../../db/scope.ts';
import type { OrganizationRow } from '../../db/tenancy/organizations/organization-row.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';
import { writeInvitation } from '../tenancy/invitations.ts';
import { insertUser } from '../tenancy/new-user.ts';
import { insertWorkspace } from '../tenancy/new-workspace.ts';
import { lockOrganization } from '../tenancy/organizations.ts';
import { requestPurge } from './purges.ts';
import { resumeOrganization as tellResumed, stopOrganization } from '../tenancy/stops.ts';

/** Default lifetime of an invitation in the settings, in days. */
const invitationDays = 7;

/** A requested organization, with its first workspace and its owner. */
interface AskedOrganization {
  readonly name: string;
  readonly slug: string;
  readonly timezone?: string;
  readonly workspace?: { readonly name?: string; readonly slug?: string };
  readonly owner: { readonly email: string; readonly full_name?: string | null };
}

/** An organization before and after a change: equal when there was nothing to do. */
export interface OrganizationChange {
  readonly before: OrganizationRow;
  readonly after: OrganizationRow;
}

/**
 * Creates an organization with its settings, a first workspace and its owner: at once with a password, else by an invitation. Throws 409 for a slug or an
 * address in use.
 */
export async function createOrganization(
  ctx: Changing,
  keys: Pick<KeyRing, 'mailKeys'>,
  { asked, passwordHash }: { readonly asked: AskedOrganization; readonly passwordHash: string | null },
): Promise<OrganizationRow> {
  const { name, slug, workspace } = asked;
  const organization = await insertOrganization(ctx, { name, slug, timezone: asked.timezone ?? 'UTC' });
  await insertWorkspace(ctx, organization, {
    name: workspace?.name ?? 'Main',
    slug: workspace?.slug ?? (workspace?.name === undefined ? 'main' : null),
    description: null,
    timezone: organization.timezone,
    currency: 'USD',
  });
  await addOwner(ctx, keys, { organizationId: organization.id, owner: asked.owner, passwordHash });
  return organization;
}

/** Suspends an organization: all work in it stops. Throws 422 unless its slug is confirmed, 409 `deleting`; a suspended organization stays as it is. */
export async function suspendOrganization(
  ctx: Changing,
  id: string,
  { confirm, reason }: { readonly confirm: string; readonly reason: string },
): Promise<OrganizationChange> {
  const before = await lockConfirmed(ctx, id, confirm);
  if (before.status === 'deleting') throw fail('state_conflict', { reason: 'deleting', detail: 'The organization is being deleted.' });
  if (before.status === 'suspended') return { before, after: before };

  const after = await setSuspended(ctx, before.id, reason);
  await stopOrganization(ctx, after.id);
  return { before, after };
}

/** Resumes an organization from suspension or during its grace period. Throws 409 `purging`; an active organization stays as it is. */
export async function resumeOrganization(ctx: Changing, id: string): Promise<OrganizationChange> {
  const before = await lockOrganization(ctx, id, { openWhenSuspended: true });
  if (before.status === 'active') return { before, after: before };
  if (await isPurged(ctx, before.id)) throw fail('state_conflict', { reason: 'purging', detail: 'The organization is being purged.' });

  const after = await setActive(ctx, before.id);
  await tellResumed(ctx, after.id);
  return { before, after };
}

/** Begins the grace period of an organization, after which it is purged: all work in it stops. One that is being deleted stays as it is. */
export async function deleteOrganization(ctx: Changing, id: string): Promise<OrganizationChange> {
  const before = await lockOrganization(ctx, id, { openWhenSuspended: true });
  if (before.status === 'deleting') return { before, after: before };

  const after = await setDeleting(ctx, before.id);
  await stopOrganization(ctx, after.id);
  return { before, after };
}

/** Purges a deleted organization without waiting for the end of its grace period. Throws 422 unless its slug is confirmed, 409 `not_deleted`. */
export async function purgeOrganization(
  ctx: Changing,
  id: string,
  { confirm, reason }: { readonly confirm: string; readonly reason: string },
): Promise<{ readonly organization: OrganizationRow; readonly purge: PurgeRow }> {
  const organization = await lockConfirmed(ctx, id, confirm);
  if (organization.status !== 'deleting') throw fail('state_conflict', { reason: 'not_deleted', detail: 'Delete the organization first.' });

  const purge = await requestPurge(ctx, organization.id, { reason, requestedByUserId: ctx.caller.principalId });
  return { organization, purge };
}

/** Creates the owner of a new organization at once, or invites the owner. Throws 409 for an address in use. */
async function addOwner(
  ctx: Changing,
  keys: Pick<KeyRing, 'mailKeys'>,
  {
    organizationId,
    owner,
    passwordHash,
  }: { readonly organizationId: string; readonly owner: AskedOrganization['owner']; readonly passwordHash: string | null },
): Promise<void> {
  const email = normalizeEmail(owner.email);
  const place = { organizationId, workspaceId: null, scope: 'organization', role: 'owner', email } as const;

  if (passwordHash === null) {
    if (await isAddressTaken(ctx, email)) throw fail('already_exists', { context: { field: 'email' } });
    await writeInvitation(ctx, keys, { ...place, invitedByUserId: ctx.caller.principalId, madeBy: null, invitationDays });
    return;
  }
  await insertUser(ctx, { ...place, id: newId(), fullName: owner.full_name ?? null, passwordHash, firstPassword: null });
}

/** Returns the organization, locked; throws 422 unless the caller has typed its slug. */
async function lockConfirmed(ctx: Changing, id: string, slug: string): Promise<OrganizationRow> {
  const organization = await lockOrganization(ctx, id, { openWhenSuspended: true });
  if (slug !== organization.slug) throw invalid('/confirm', 'confirm', 'must be the slug of the organization');
  return organization;
}
