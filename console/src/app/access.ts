import { useSuspenseQuery } from '@tanstack/react-query';
import { meQuery } from './queries.ts';

const ranks = ['viewer', 'member', 'admin', 'owner', 'operator'] as const;
export type Rank = (typeof ranks)[number];

/** Who is signed in. Only below the shell, which has loaded it. */
export function useMe() {
  return useSuspenseQuery(meQuery).data;
}

/** Whether the role suffices: what it forbids is not shown. */
export function useMay(floor: Rank): boolean {
  return isAtLeast(useMe().role, floor);
}

export function isAtLeast(role: string, floor: Rank): boolean {
  return ranks.indexOf(role as Rank) >= ranks.indexOf(floor); // an unknown role ranks below all
}
