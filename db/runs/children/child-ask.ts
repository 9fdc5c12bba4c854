import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** Structured input for an agent that declares an input schema. */
export interface ChildAsk {
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly input: unknown;
}

const askedRevision = sql<{ revisionId: string }>`(
  select t -> 'delegate' ->> 'revision_id' as revision_id from jsonb_array_elements(r.manifest -> 'tools') t where t ->> 'slug' = c.slug limit 1)`;

const askOf = prepared(({ runId, toolCallId }: ParametersOf<{ readonly runId: string; readonly toolCallId: string }>) =>
  query
    .selectFrom('tool_calls as c')
    .innerJoin('runs as r', 'r.id', 'c.runId')
    .crossJoinLateral(askedRevision.as('asked'))
    .innerJoin('agent_revisions as v', (join) => join.on('v.id', '=', sql<string>`asked.revision_id::uuid`))
    .where('c.id', '=', toolCallId)
    .where('c.runId', '=', runId)
    .where('c.toolId', 'is not', null)
    .where('c.childRunId', 'is', null)
    .select(sql<unknown>`c.args -> 'input'`.as('input'))
    .select(sql<Readonly<Record<string, unknown>> | null>`nullif(v.document -> 'input_schema', 'null')`.as('inputSchema')),
);

/**
 * Returns the input to validate for a delegate call whose tool has a row, since that tool's own schema is the same for all agents. Returns null when the
 * called agent takes any input, and for the tools of sub-agents, whose schemas already include the agent's.
 */
export async function readChildAsk(
  tx: TenantTransaction,
  { runId, toolCallId }: { readonly runId: string; readonly toolCallId: string },
): Promise<ChildAsk | null> {
  const found = await row(tx.em, askOf({ runId, toolCallId }));
  return found === null || found.inputSchema === null ? null : { inputSchema: found.inputSchema, input: found.input ?? {} };
}
