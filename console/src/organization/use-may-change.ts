import { useMay, useMe } from '../app/access.ts';

/** An owner of the whole organization may change it; an owner of a workspace may not. */
export function useMayChangeOrganization(): boolean {
  const isOwner = useMay('owner');
  const { scope } = useMe();
  return isOwner && scope !== 'workspace';
}
