import type { Selectable } from 'kysely';
import type { Tables } from '../../table-types.ts';

/** The columns of an organization that views show, with its version. */
export const organizationColumns = [
  'id',
  'name',
  'slug',
  'timezone',
  'status',
  'suspendedAt',
  'deleteAfter',
  'createdAt',
  'updatedAt',
  'version',
] as const;

/** An organization as views show it. */
export type OrganizationRow = Pick<Selectable<Tables['organizations']>, (typeof organizationColumns)[number]>;
