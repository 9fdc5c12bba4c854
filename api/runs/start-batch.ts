import type Type from 'typebox';
import { organizationOf } from '../../db/caller-scope.ts';
import { toRunView } from '../../db/runs/read/run-view.ts';
import { startRuns, type StartedRun } from '../../domain/runs/start/start-run.ts';
import { fail, Failure, type Violation } from '../../workflows/contracts/failure.ts';
import { toEnvelope } from '../http/reply/error-envelope.ts';
import type { Ctx } from '../http/operation/operation.ts';
import type { RunBatchCreate, RunBatchView } from './bulk.schema.ts';
import { toStartRun } from './create-run.ts';
import type { StartRun } from '../../db/runs/start/start-run.ts';

type Item = Type.Static<typeof RunBatchCreate>['items'][number];
type View = Type.Static<typeof RunBatchView>;

/** Starts runs in one transaction; each start fails alone, with the envelope that it would have got for itself. */
export async function startBatch(ctx: Ctx, items: readonly Item[]): Promise<View> {
  const drafts = items.map((item) => draftOf(ctx, item));
  const starts = drafts.filter((draft): draft is StartRun => !(draft instanceof Failure));
  const outcomes = (starts.length === 0 ? [] : await startRuns(ctx, starts)).values();
  const all = drafts.map((draft) => (draft instanceof Failure ? draft : (outcomes.next().value ?? fail('internal_error'))));

  const views = all.map((outcome, index) => toItemView(ctx, outcome, index));
  const created = views.filter(({ status }) => status === 'created').length;
  note(ctx, all, { created, failed: items.length - created });
  return { items: views, created, failed: items.length - created };
}

function draftOf(ctx: Ctx, item: Item): StartRun | Failure {
  try {
    return toStartRun(ctx, item);
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

function toItemView(ctx: Ctx, outcome: StartedRun | Failure, index: number): View['items'][number] {
  if (!(outcome instanceof Failure))
    return { index, status: 'created', run: { ...toRunView(outcome.run), admission: outcome.admission }, error: null };
  const envelope = toEnvelope(outcome, { publicUrl: ctx.deps.env.publicUrl, correlationId: ctx.correlationId });
  return {
    index,
    status: 'failed',
    run: null,
    error: { ...envelope, errors: envelope.errors.map((violation) => within(violation, index)) },
  };
}

/** Violations name locations in the body that was sent. */
function within<V extends Pick<Violation, 'in' | 'pointer'>>(violation: V, index: number): V {
  return violation.in === 'body' && violation.pointer !== null
    ? { ...violation, pointer: `/items/${index}${violation.pointer}` }
    : violation;
}

/** One entry for all, where they live when that is one place, with the counts. */
function note(ctx: Ctx, outcomes: readonly (StartedRun | Failure)[], counts: { readonly created: number; readonly failed: number }): void {
  const runs = outcomes.flatMap((outcome) => (outcome instanceof Failure ? [] : [outcome.run]));
  const places = new Map(runs.map((run) => [run.workspaceId, run]));
  const [only] = places.values();
  const rowScope =
    only && places.size === 1
      ? { organizationId: only.organizationId, workspaceId: only.workspaceId }
      : {
          organizationId: organizationOf(ctx.caller),
          workspaceId: places.size === 0 ? (ctx.caller.view?.workspaceId ?? ctx.caller.workspaceId) : null,
        };
  ctx.audit({
    resourceType: 'run',
    resourceId: null,
    ...rowScope,
    changes: { created: { to: counts.created }, failed: { to: counts.failed } },
  });
}
