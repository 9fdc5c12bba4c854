import type { Temporal } from './client.ts';

export interface WorkflowList {
  readonly query: string;
  readonly pageSize: number;
  /** Where an earlier page ended. */
  readonly from?: Uint8Array | null;
}

/** Returns the ids of one page of workflows. Visibility lags and may miss some: a hint, never a proof. `nextPage` is null at the end. */
export async function listWorkflowIds(
  { connection, namespace }: Temporal,
  { query, pageSize, from }: WorkflowList,
): Promise<{ ids: string[]; nextPage: Uint8Array | null }> {
  const { executions, nextPageToken } = await connection.workflowService.listWorkflowExecutions({
    namespace,
    query,
    pageSize,
    ...(from ? { nextPageToken: from } : {}),
  });
  const ids = (executions ?? []).flatMap(({ execution }) => (execution?.workflowId ? [execution.workflowId] : []));

  return { ids, nextPage: nextPageToken && nextPageToken.length > 0 ? nextPageToken : null };
}
