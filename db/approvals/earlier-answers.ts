import { type NotNull, sql } from 'kysely';
import { literals } from '../expressions.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

function selectAnswers({ runId }: ParametersOf<{ readonly runId: string }>) {
  return query
    .selectFrom('approvals as a')
    .where('a.runId', '=', runId)
    .where('a.reason', '=', sql.lit('tool_call'))
    .where('a.toolSlug', 'is not', null)
    .distinct();
}

const approvedSlugs = prepared((p: ParametersOf<{ readonly runId: string }>) =>
  selectAnswers(p).select('a.toolSlug').where('a.status', 'in', literals('approved', 'edited')).$narrowType<{ toolSlug: NotNull }>(),
);

/** Returns the slugs of the tools that people have approved in a run. */
export async function readApprovedSlugs(tx: TenantTransaction, runId: string): Promise<Set<string>> {
  return new Set((await rows(tx.em, approvedSlugs({ runId }))).map(({ toolSlug }) => toolSlug));
}

const rejectedCalls = prepared((p: ParametersOf<{ readonly runId: string }>) =>
  selectAnswers(p)
    .select(({ ref }) => sql<string>`${ref('a.toolSlug')} || ' ' || ${ref('a.argsHash')}`.as('key'))
    .where('a.status', '=', sql.lit('rejected'))
    .where('a.argsHash', 'is not', null),
);

/** Returns the calls that people have rejected in a run, as `<slug> <args_hash>`: the same call is denied without another question. */
export async function readRejected(tx: TenantTransaction, runId: string): Promise<Set<string>> {
  return new Set((await rows(tx.em, rejectedCalls({ runId }))).map(({ key }) => key));
}
