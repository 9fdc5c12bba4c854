import { isAtLeast, useMe } from '../app/access.ts';
import { peopleTexts as p } from './messages.ts';

export const tenantRoles = ['viewer', 'member', 'admin', 'owner'] as const;
export type TenantRole = (typeof tenantRoles)[number];

/** The roles that somebody may give: none above their own. */
export function useRoleOptions(): { readonly id: TenantRole; readonly label: string }[] {
  const { role } = useMe();
  return tenantRoles.filter((one) => isAtLeast(role, one)).map((id) => ({ id, label: p.roles[id] ?? id }));
}

export function asRole(value: string | undefined): TenantRole | null {
  return tenantRoles.find((one) => one === value) ?? null;
}
