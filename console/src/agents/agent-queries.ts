import { queryOptions } from '@tanstack/react-query';
import { api } from '../app/api.ts';
import { versionOf } from '../ui/edit-state.ts';

const pollMs = 5_000;

/** One agent, with the ETag of this version of it. */
export const agentQuery = (agentId: string) =>
  queryOptions({
    queryKey: ['agent', agentId],
    queryFn: async ({ signal }) => versionOf(await api.getAgent({ agent_id: agentId }, { signal })),
    refetchInterval: pollMs,
  });

/** Its newest revision; null: it has none. */
export const newestRevisionQuery = (agentId: string) =>
  queryOptions({
    queryKey: ['agent', agentId, 'newest'],
    queryFn: () => readNewest(agentId),
    refetchInterval: pollMs,
  });

export async function readNewest(agentId: string) {
  const { items } = await api.listAgentRevisions({ agent_id: agentId, limit: 1 });
  const newest = items[0];
  return newest === undefined ? null : api.getAgentRevision({ agent_id: agentId, revision_id: newest.id });
}
