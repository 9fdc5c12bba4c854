import { rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** Returns the slugs of the tools that people have approved in a run. */
export async function readApprovedSlugs(tx: TenantTransaction, runId: string): Promise<Set<string>> {
  const found = await rows<{ tool_slug: string }>(
    tx.em,
    `select distinct tool_slug from approvals where run_id = ? and reason = 'tool_call' and status in ('approved', 'edited') and tool_slug is not null`,
    [runId],
  );
  return new Set(found.map((one) => one.tool_slug));
}

/** Returns the calls that people have rejected in a run, as `<slug> <args_hash>`: the same call is denied without another question. */
export async function readRejected(tx: TenantTransaction, runId: string): Promise<Set<string>> {
  const found = await rows<{ key: string }>(
    tx.em,
    `select distinct tool_slug || ' ' || args_hash as key from approvals
      where run_id = ? and reason = 'tool_call' and status = 'rejected' and tool_slug is not null and args_hash is not null`,
    [runId],
  );
  return new Set(found.map(({ key }) => key));
}
