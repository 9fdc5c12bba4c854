import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { useMay } from '../app/access.ts';
import { api } from '../app/api.ts';
import { agentsQuery, workspacesQuery } from '../app/queries.ts';
import type { Grouping } from './groups.ts';
import { usageTexts as u } from './messages.ts';

/** Names of what usage is grouped by; of what the reader may not see, or what is gone, the end of its id. */
export function useNames(workspaceId: string): (by: Grouping, key: string | null) => string {
  const isAdmin = useMay('admin');
  const workspaces = useSuspenseQuery(workspacesQuery).data.items;
  const agents = useQuery(agentsQuery);
  const members = useQuery({
    queryKey: ['members-of', workspaceId],
    queryFn: ({ signal }) => api.listWorkspaceMembers({ workspace_id: workspaceId, limit: 200 }, { signal }),
    staleTime: 60_000,
  });
  const keys = useQuery({
    queryKey: ['keys-for-names'],
    queryFn: ({ signal }) => api.listServiceKeys({ limit: 200, include_revoked: true }, { signal }),
    staleTime: 60_000,
    enabled: isAdmin,
  });
  return (by, key) => {
    if (key === null) return u.nobody;
    return nameIn(by, key) ?? (by === 'model' || by === 'kind' ? key : `…${key.slice(-12)}`);
  };

  function nameIn(by: Grouping, key: string): string | undefined {
    if (by === 'agent') return agents.data?.items.find(({ id }) => id === key)?.name;
    if (by === 'workspace') return workspaces.find(({ id }) => id === key)?.name;
    if (by === 'service_key') return keys.data?.items.find(({ id }) => id === key)?.name;
    const member = members.data?.items.find(({ user_id }) => user_id === key);
    return by === 'user' ? (member?.full_name ?? member?.email) : undefined;
  }
}
