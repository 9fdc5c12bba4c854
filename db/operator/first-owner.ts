import { fail } from '../../workflows/contracts/failure.ts';
import type { KeyRing } from '../identity/key-ring.ts';
import { newId } from '../ids.ts';
import { addMail } from '../mail.ts';
import { change, row } from '../sql.ts';
import type { Unit } from '../unit.ts';

/** The first owner of a new organization. The address is normalized. */
export interface FirstOwner {
  readonly organizationId: string;
  readonly email: string;
  readonly fullName: string | null;
}

/** Makes the owner at once, with a password; the address stays unverified. 409 when it is in use. */
export async function insertOwner(unit: Unit, owner: FirstOwner, passwordHash: string): Promise<void> {
  const id = newId();
  await change(
    unit.em,
    "insert into users (id, email, full_name, role, scope, organization_id, workspace_id) values (?, ?, ?, 'owner', 'organization', ?, null)",
    [id, owner.email, owner.fullName, owner.organizationId],
  );
  await change(unit.em, 'insert into user_credentials (user_id, organization_id, password_hash, password_changed_at) values (?, ?, ?, now())', [
    id,
    owner.organizationId,
    passwordHash,
  ]);
}

/** Invites the owner by mail, as long as new organizations let an invitation live. 409 when the address is in use. */
export async function inviteOwner(
  unit: Unit,
  keys: Pick<KeyRing, 'mailKeys'>,
  { owner, invitedByUserId }: { readonly owner: FirstOwner; readonly invitedByUserId: string | null },
): Promise<void> {
  const taken = await row(unit.em, 'select id from users where email = ? and deleted_at is null', [owner.email]);
  if (taken) throw fail('already_exists', { context: { field: 'email' } });

  const id = newId();
  const home = { organizationId: owner.organizationId, workspaceId: null };
  const { tokenHash } = await addMail(unit, keys, { mail: { template: 'invitation', invitationId: id }, home });
  await change(
    unit.em,
    `insert into invitations (id, organization_id, scope, email, role, token_hash, invited_by_user_id, expires_at)
     select ?, s.organization_id, 'organization', ?, 'owner', ?, ?, now() + make_interval(days => s.invitation_days)
       from organization_settings s where s.organization_id = ?`,
    [id, owner.email, tokenHash, invitedByUserId, owner.organizationId],
  );
}
