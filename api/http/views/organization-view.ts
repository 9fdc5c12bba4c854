import { type Static } from 'typebox';
import { iso } from '../../../db/sql.ts';
import type { OrganizationRow } from '../../../db/tenancy/organizations/organization-row.ts';
import { organizationStatuses } from '../../../db/tenancy/organizations/organization.entity.ts';
import { closed, idOf, Name, nullable, oneOf, Slug, text, Timestamp } from '../input/schema.ts';

/** Shared by its own area and that of operators. */
export const OrganizationView = closed(
  {
    id: idOf('Organization'),
    name: Name,
    slug: Slug,
    timezone: text(64, { description: 'IANA name' }),
    status: oneOf(organizationStatuses),
    suspended_at: nullable(Timestamp),
    delete_after: nullable(Timestamp),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { $id: 'OrganizationView', description: 'A tenant of the deployment' },
);

export function toOrganizationView(row: OrganizationRow): Static<typeof OrganizationView> {
  return {
    id: row.id,
    name: row.name,
    slug: row.slug,
    timezone: row.timezone,
    status: row.status,
    suspended_at: iso(row.suspendedAt),
    delete_after: iso(row.deleteAfter),
    created_at: iso(row.createdAt),
    updated_at: iso(row.updatedAt),
  };
}
