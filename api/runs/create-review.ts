import type Type from 'typebox';
import { findBinding } from '../../db/code-review/bindings.ts';
import { lockPull, readBindingState } from '../../db/code-review/pulls.ts';
import { refuseRank } from '../../db/reach.ts';
import type { StartedRun } from '../../db/runs/start-run.ts';
import { refuseStart, startReview } from '../../domain/code-review/start-review.ts';
import { invalid } from '../../workflows/contracts/failure.ts';
import { checkBytes, checkKeys } from '../http/bounds.ts';
import type { Ctx } from '../http/operation.ts';
import { startedBy } from './create-run.ts';
import type { RunCreate } from './run.schema.ts';

type Body = Type.Static<typeof RunCreate>;
type Review = NonNullable<Body['review']>;

/** Fields that say what a run is about; a review says it itself. */
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
      throw invalid(`/${name}`, 'excludes', 'is not taken with review, which says what the run is about', { excludes: 'review' });
  checkKeys('/metadata', body.metadata, 50);
  checkBytes('/metadata', body.metadata, 8_192);

  const found = await findBinding(ctx, review.binding_id);
  const isElsewhere = body.workspace_id !== undefined && found !== null && found.workspaceId !== body.workspace_id;
  const binding = found === null || isElsewhere ? null : await readBindingState(ctx, found.id);
  if (!binding) throw invalid('/review/binding_id', 'reference', 'The binding does not exist.', { kind: 'repo_binding' });
  refuseRank(ctx.caller, binding.workspaceId, ctx.floor);
  refuseStart(binding, { kind: 'review' });

  const pull = await lockPull(ctx, binding, review.pull_number);
  const { limits = {}, metadata = {} } = body;
  return startReview(ctx, {
    binding,
    pull,
    request: {
      kind: 'review',
      full: review.full ?? false,
      post: review.post ?? true,
      is_automatic: false,
      command_id: null,
      finding_id: null,
    },
    text: review.instructions ?? null,
    by: { ...startedBy(ctx), limits, metadata },
  });
}
