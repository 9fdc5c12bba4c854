import type Type from 'typebox';
import { organizationOf, refuseRank } from '../../db/caller-scope.ts';
import { cancelAll, leaveToWorkflow } from '../../domain/runs/end/bulk-cancel.ts';
import type { Cancel } from '../../domain/runs/end/cancel-locked.ts';
import { assertActive } from '../../db/scope.ts';
import { findCancellable } from '../../db/evaluations/evaluations.ts';
import { requestCancel } from '../../domain/evaluations/lifecycle.ts';
import { fail, invalid, type Violation } from '../../workflows/contracts/failure.ts';
import type { AuditNote, Ctx } from '../http/operation/operation.ts';
import type { RunBulkCancel, RunBulkCancelView } from './bulk.schema.ts';
import { matchingRuns, seenRuns, type CancelFilter, type RunAddress } from '../../db/runs/end/cancellable-runs.ts';

type Body = Type.Static<typeof RunBulkCancel>;
type View = Type.Static<typeof RunBulkCancelView>;

/** Matches that are cancelled in the request; more are left to a workflow. */
const maxMatches = 500;

/** Cancels the runs that are named, or those that match. Throws 422 for neither or both, 403 and 423 for a named run that may not be changed. */
export async function cancelMany(ctx: Ctx, body: Body): Promise<View> {
  const cancel: Cancel = { policy: body.policy ?? 'interrupt', reason: body.reason ?? null };
  const filter = body.filter === undefined ? null : filterOf(body.filter);
  if ((body.ids === undefined) === (filter === null)) throw exactlyOne();
  return body.ids === undefined ? cancelMatches(ctx, filter ?? {}, cancel) : cancelNamed(ctx, body.ids, cancel);
}

async function cancelNamed(ctx: Ctx, named: readonly string[], cancel: Cancel): Promise<View> {
  const ids = new Set(named.map((id) => id.toLowerCase()));
  const seen = await seenRuns(ctx, [...ids]);
  const places = distinctPlaces(seen);
  for (const place of places) refuseRank(ctx.caller, place.workspaceId, ctx.floor);
  for (const place of places) await assertActive(ctx.em, place);

  const counts = await cancelAll(
    ctx,
    seen.map((run) => run.id),
    cancel,
  );
  const view = {
    matched: seen.length - counts.gone,
    cancelled: counts.cancelled,
    cancelling: counts.cancelling,
    already_finished: counts.alreadyFinished,
    not_found: ids.size - seen.length + counts.gone,
    continues: false,
  };
  note(ctx, seen, view);
  return view;
}

async function cancelMatches(ctx: Ctx, filter: CancelFilter, cancel: Cancel): Promise<View> {
  const evaluation = await cancelEvaluation(ctx, filter);
  const { runs, matched } = await matchingRuns(ctx, filter, maxMatches);
  const counts = await cancelAll(
    ctx,
    runs.map((run) => run.id),
    cancel,
  );
  const continues = matched > runs.length && (await leaveToWorkflow(ctx, filter, cancel)) > 0;
  const view = {
    matched: matched + evaluation.found,
    cancelled: counts.cancelled,
    cancelling: counts.cancelling + evaluation.cancelling,
    already_finished: counts.alreadyFinished + counts.gone + evaluation.found - evaluation.cancelling,
    not_found: 0,
    continues,
  };
  note(ctx, [...runs, ...evaluation.places], view);
  return view;
}

/** The evaluation that a filter names is cancelled before its runs, so that none follows them. It counts as one match. */
async function cancelEvaluation(ctx: Ctx, filter: CancelFilter) {
  const found = await findCancellable(ctx, filter);
  if (found === null) return { found: 0, cancelling: 0, places: [] };
  return { found: 1, cancelling: (await requestCancel(ctx, found)) ? 1 : 0, places: [found] };
}

function filterOf(filter: NonNullable<Body['filter']>): CancelFilter {
  if (Object.keys(filter).length === 0) throw invalid('/filter', 'minProperties', 'at least one field is required');
  return filter;
}

function distinctPlaces(runs: readonly RunAddress[]): RunAddress[] {
  return [...new Map(runs.map((run) => [run.workspaceId, run])).values()];
}

/** One entry for all: where they live when that is one place, else the caller's organization, with the counts. */
function note(ctx: Ctx, runs: readonly RunAddress[], { continues, ...counts }: View): void {
  const places = distinctPlaces(runs);
  const [only] = places;
  const rowScope =
    only && places.length === 1
      ? { organizationId: only.organizationId, workspaceId: only.workspaceId }
      : {
          organizationId: organizationOf(ctx.caller),
          workspaceId: places.length === 0 ? (ctx.caller.view?.workspaceId ?? ctx.caller.workspaceId) : null,
        };
  const changes: AuditNote['changes'] = Object.fromEntries(Object.entries({ ...counts, continues }).map(([name, to]) => [name, { to }]));
  ctx.audit({ resourceType: 'run', resourceId: null, ...rowScope, changes });
}

function exactlyOne() {
  const message = 'exactly one of ids and filter is required';
  const errors: Violation[] = [{ in: 'body', pointer: '', name: null, rule: 'oneOf', message }];
  return fail('validation_failed', { detail: message, errors });
}
