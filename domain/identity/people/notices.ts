import { addMail } from '../../../db/mail.ts';
import type { MailRequest } from '../../../workflows/contracts/upkeep/mail.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import type { KeyRing } from '../../../db/key-ring.ts';

/** Notifies a user by mail of a change of the user's sign-in. */
export async function notify(
  tx: TenantTransaction,
  keys: Pick<KeyRing, 'mailKeys'>,
  notice: {
    readonly template: Extract<
      MailRequest['template'],
      'refresh_reuse' | 'password_changed' | 'factor_added' | 'factor_removed' | 'recovery_codes_replaced' | 'recovery_codes_used_up'
    >;
    readonly userId: string;
    readonly organizationId: string | null;
    readonly workspaceId: string | null;
  },
): Promise<void> {
  const { template, userId, organizationId, workspaceId } = notice;
  await addMail(tx, keys, { mail: { template, userId }, rowScope: { organizationId, workspaceId } });
}
