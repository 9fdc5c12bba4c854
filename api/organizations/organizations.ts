import { area } from '../http/operation/operation.ts';
import { auditLogOperations } from './audit-log.operations.ts';
import { invitationOperations } from './invitations.operations.ts';
import { memberOperations } from './members.operations.ts';
import { organizationOperations } from './organizations.operations.ts';
import { secretOperations } from './secrets.operations.ts';
import { userOperations } from './users.operations.ts';
import { workspaceOperations } from './workspaces.operations.ts';

/** Organizations and what they hold: workspaces, people, invitations, secrets and the audit log. */
export const organizations = area('Organizations & workspaces', {
  ...organizationOperations,
  ...workspaceOperations,
  ...memberOperations,
  ...userOperations,
  ...invitationOperations,
  ...secretOperations,
  ...auditLogOperations,
});
