import type { ActorRef } from '../../db/actor-ref.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { LeftOut } from '../../db/toolkits/left-out.ts';
import { insertRevisionRow, readActiveTools, toolsInForce, type OpenedRevision, type ToolkitScope } from '../../db/toolkits/revisions.ts';
import type { ToolkitTool } from '../../db/toolkits/toolkit-tool.ts';
import type { ToolkitRevisionOrigin } from '../../workflows/contracts/tools/toolkit-sync.ts';
import { diffTools, isInForce } from './diff.ts';
import { reportLeftOut } from './source-tools.ts';

/** A revision made from a document or by hand, complete at once. */
export interface NewToolkitRevision {
  readonly origin: Exclude<ToolkitRevisionOrigin, 'sync'>;
  readonly tools: readonly ToolkitTool[];
  readonly sourceHash: string;
  /** What was omitted from the source; `count` may exceed what is listed in `report`. */
  readonly leftOut: { readonly reported: readonly LeftOut[]; readonly count: number };
  readonly note: string | null;
  readonly createdBy: ActorRef;
}

/** Stores a revision made from a document or by hand, with its differences from the active one. The caller has locked the toolkit. */
export async function addToolkitRevision(
  tx: TenantTransaction,
  toolkit: ToolkitScope,
  { tools, leftOut, ...made }: NewToolkitRevision,
): Promise<OpenedRevision> {
  const active = await readActiveTools(tx, toolkit.id);
  const state = isInForce(tools, await toolsInForce(tx, toolkit.id)) ? 'unchanged' : 'inactive';
  return insertRevisionRow(tx, toolkit, {
    ...made,
    ...reportLeftOut(leftOut.reported),
    state,
    tools,
    diff: diffTools(active, tools),
    leftOutCount: leftOut.count,
  });
}
