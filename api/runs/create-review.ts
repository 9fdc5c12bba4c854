import type Type from 'typebox';
import { findBinding } from '../../db/code-review/bindings/bindings.ts';
import { refuseRank } from '../../db/caller-scope.ts';
import type { StartedRun } from '../../domain/runs/start/start-run.ts';
import { askForReview } from '../../domain/code-review/ask-review.ts';
import { invalid } from '../../workflows/contracts/failure.ts';
import { checkBytes, checkKeys } from '../http/input/bounds.ts';
import type { Ctx } from '../http/operation/operation.ts';
import { startedBy } from './create-run.ts';
import type { RunCreate } from './run.schema.ts';

type Body = Type.Static<typeof RunCreate>;
type Review = NonNullable<Body['review']>;

/** Fields that define what a run is about; a review defines it itself. */
const excluded = [
  'agent_id',
  'agent_slug',
  'revision_id',
  'persona_slug',
  'input',
  'session_key',
  'subject',
  'start_after',
] as const satisfies readonly (keyof Body)[];

/**
 * Starts a review of a pull request that somebody asks for: it is made whatever drafts, filters and pauses say. Throws 422 for a binding out of the caller's sight and for
 * fields that a review excludes, 409 `binding_inactive` and `no_reviewer`, and what `startRun` throws.
 */
export async function createReview(ctx: Ctx, body: Body, review: Review): Promise<StartedRun> {
  for (const name of excluded)
    if (body[name] !== undefined && body[name] !== null)
      throw invalid(`/${name}`, 'excludes', 'must be omitted with review, which defines what the run is about', { excludes: 'review' });
  checkKeys('/metadata', body.metadata, 50);
  checkBytes('/metadata', body.metadata, 8_192);

  const found = await findBinding(ctx, review.binding_id);
  if (!found || (body.workspace_id !== undefined && found.workspaceId !== body.workspace_id)) throw unknownBinding();
  refuseRank(ctx.caller, found.workspaceId, ctx.floor);
  const { limits = {}, metadata = {} } = body;
  const started = await askForReview(ctx, {
    bindingId: found.id,
    pullNumber: review.pull_number,
    full: review.full ?? false,
    post: review.post ?? true,
    instructions: review.instructions ?? null,
    by: { ...startedBy(ctx), limits, metadata },
  });
  if (!started) throw unknownBinding();
  return started;
}

function unknownBinding() {
  return invalid('/review/binding_id', 'reference', 'The binding does not exist.', { kind: 'repo_binding' });
}
