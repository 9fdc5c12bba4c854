import type { organizationStatuses } from './organization.entity.ts';

/** An organization as views show it. */
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
