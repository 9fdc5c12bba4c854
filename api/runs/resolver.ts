import type { ResolveApprovals } from '../../domain/approvals/resolve.ts';
import { refuseRank } from '../../db/caller-scope.ts';
import type { RunScope } from '../../db/runs/read/run-queries.ts';
import type { Ctx } from '../http/operation/operation.ts';

/** The caller as one who answers the questions of a run. */
export function resolverOf(ctx: Ctx, place: RunScope): Pick<ResolveApprovals, 'by' | 'refuseBelow' | 'keys'> {
  const { caller } = ctx;
  const program = { kind: caller.kind === 'service_key' ? 'service_key' : 'system', id: caller.principalId } as const;
  return {
    by: caller.userId === null ? program : { kind: 'user', id: caller.userId },
    refuseBelow: (floor) => refuseRank(caller, place.workspace_id, floor),
    keys: ctx.deps.keys,
  };
}
