import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** Structured input for an agent that declares an input schema. */
export interface ChildAsk {
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly input: unknown;
}

/**
 * Returns the input to validate for a delegate call whose tool has a row, since that tool's own schema is the same for all agents. Returns null when the
 * called agent takes any input, and for the tools of sub-agents, whose schemas already include the agent's.
 */
export async function readChildAsk(
  tx: TenantTransaction,
  { runId, toolCallId }: { readonly runId: string; readonly toolCallId: string },
): Promise<ChildAsk | null> {
  const found = await row<{ input: unknown; input_schema: Readonly<Record<string, unknown>> | null }>(
    tx.em,
    `select c.args -> 'input' as input, nullif(v.document -> 'input_schema', 'null') as input_schema
       from tool_calls c
       join runs r on r.id = c.run_id
       cross join lateral (select t -> 'delegate' ->> 'revision_id' as revision_id from jsonb_array_elements(r.manifest -> 'tools') t where t ->> 'slug' = c.slug limit 1) asked
       join agent_revisions v on v.id = asked.revision_id::uuid
      where c.id = ? and c.run_id = ? and c.tool_id is not null and c.child_run_id is null`,
    [toolCallId, runId],
  );
  return found === null || found.input_schema === null ? null : { inputSchema: found.input_schema, input: found.input ?? {} };
}
