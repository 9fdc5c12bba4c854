import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

const sandboxLimits = prepared(({ toolId }: ParametersOf<{ readonly toolId: string }>) =>
  query
    .selectFrom('tools as t')
    // Every tool that runs code has both.
    .select(({ ref }) => [
      sql<number>`(${ref('t.config')} ->> 'memory_mb')::int`.as('memoryMb'),
      sql<number>`(${ref('t.config')} ->> 'cpu_ms')::int`.as('cpuMs'),
    ])
    .where('t.id', '=', toolId)
    .where('t.kind', '=', 'code_exec')
    .where('t.isActive', '=', sql.lit(true))
    .where('t.deletedAt', 'is', null),
);

/** Returns the resources that a program may use in a tool that runs code, or null when it is deleted, inactive or of another kind. */
export function readSandboxLimits(tx: Pick<TenantTransaction, 'em'>, toolId: string) {
  return row(tx.em, sandboxLimits({ toolId }));
}

const askingComment = prepared(({ commandId }: ParametersOf<{ readonly commandId: string }>) =>
  query.selectFrom('review_commands as c').select(['c.commentId', 'c.commentKind as kind', 'c.inReplyTo']).where('c.id', '=', commandId),
);

/** Returns the comment that gave a command, with the comment of a thread that it answers; null when there is no such command. */
export function readAskingComment(tx: Pick<TenantTransaction, 'em'>, commandId: string) {
  return row(tx.em, askingComment({ commandId }));
}
