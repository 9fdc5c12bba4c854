import { queryOptions } from '@tanstack/react-query';
import { api, type Views } from '../app/api.ts';

const pollMs = 5_000;

/** Runs of a workspace with questions that nobody has answered, of themselves or below them: those that wait, and those that go on meanwhile. */
export function pendingRunsQuery(workspaceId: string) {
  return queryOptions({
    queryKey: ['approvals', workspaceId, 'runs'],
    queryFn: async ({ signal }) => {
      const read = (status: 'waiting' | 'running') => api.listRuns({ status, workspace_id: workspaceId, limit: 200 }, { signal });
      const [waiting, running] = await Promise.all([read('waiting'), read('running')]);
      // A root lists the questions of all below it.
      return [...waiting.items, ...running.items].filter((run) => run.pending_approvals > 0 && run.parent_run_id === null);
    },
    refetchInterval: pollMs,
  });
}

/** The open questions of one run and all below it. */
export function questionsQuery(run: Pick<Views['RunView'], 'id'>) {
  return queryOptions({
    queryKey: ['approvals', 'of', run.id],
    queryFn: async ({ signal }) => (await api.listRunApprovals({ run_id: run.id, status: 'pending', limit: 200 }, { signal })).items,
    refetchInterval: pollMs,
  });
}
