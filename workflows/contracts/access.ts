export const roles = ['viewer', 'member', 'admin', 'owner', 'operator'] as const;
export type Role = (typeof roles)[number];

export const scopes = ['workspace', 'organization', 'platform'] as const;
export type Scope = (typeof scopes)[number];

/** Returns the position of a role; viewer is lowest. */
export function rankOf(role: Role): number {
  return roles.indexOf(role);
}

/** Returns the lower of two roles. */
export function lowerRole(left: Role, right: Role): Role {
  return rankOf(left) <= rankOf(right) ? left : right;
}
