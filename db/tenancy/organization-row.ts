import type { Organization, organizationStatuses } from './organization.entity.ts';

/** An organization as views show one. */
export interface OrganizationRow {
  readonly id: string;
  readonly name: string;
  readonly slug: string;
  readonly timezone: string;
  readonly status: (typeof organizationStatuses)[number];
  readonly suspended_at: Date | string | null;
  readonly delete_after: Date | string | null;
  readonly created_at: Date | string;
  readonly updated_at: Date | string;
  readonly version: number;
}

/** Select list of an OrganizationRow over `organizations` under the given alias. */
export function organizationColumns(alias: string): string {
  const columns = ['id', 'name', 'slug', 'timezone', 'status', 'suspended_at', 'delete_after', 'created_at', 'updated_at', 'version'];
  return columns.map((column) => `${alias}.${column}`).join(', ');
}

/** The row of a loaded entity, after a flush. */
export function organizationRowOf(organization: Organization): OrganizationRow {
  return {
    id: organization.id,
    name: organization.name,
    slug: organization.slug,
    timezone: organization.timezone,
    status: organization.status,
    suspended_at: organization.suspendedAt,
    delete_after: organization.deleteAfter,
    created_at: organization.createdAt,
    updated_at: organization.updatedAt,
    version: organization.version,
  };
}
