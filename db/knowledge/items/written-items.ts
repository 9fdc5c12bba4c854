import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

type Tx = Pick<TenantTransaction, 'em'>;
interface Call {
  readonly toolCallId: string;
}

const writtenItem = prepared(({ toolCallId }: ParametersOf<Call>) =>
  query.selectFrom('knowledge_items as i').select('i.id').where('i.id', '=', toolCallId),
);

/** Returns the item that a call of `knowledge_write` created, whatever has become of it since: its id is the call's id. */
export function findWrittenItem(tx: Tx, toolCallId: string) {
  return row(tx.em, writtenItem({ toolCallId }));
}

const executing = prepared(({ toolCallId }: ParametersOf<Call>) =>
  query.selectFrom('tool_calls as c').select('c.id').where('c.id', '=', toolCallId).where('c.state', '=', 'executing').forShare(),
);

/** Whether a call is being executed. The call then cannot end before the transaction does: a transaction that cancels it waits, and finds what it wrote. */
export async function isCallExecuting(tx: Tx, toolCallId: string): Promise<boolean> {
  return (await row(tx.em, executing({ toolCallId }))) !== null;
}

const callArguments = prepared(({ toolCallId }: ParametersOf<Call>) =>
  query
    .selectFrom('tool_calls as c')
    .select(['c.id', 'c.args', 'c.runId', 'c.organizationId', 'c.workspaceId'])
    .where('c.id', '=', toolCallId),
);

/** Returns the arguments of a call of the tool; null when its run has been erased. */
export function readWriteCall(tx: Tx, toolCallId: string) {
  return row(tx.em, callArguments({ toolCallId }));
}
