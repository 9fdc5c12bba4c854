import { ApplicationFailure } from '@temporalio/common';
import { cancellationSignal } from '@temporalio/activity';
import type { EmbeddingDeps } from '../../domain/knowledge/items/embed-texts.ts';
import { failPendingItems, indexPendingItems } from '../../domain/knowledge/items/index-pending.ts';
import { EmbeddingError } from '../../ports/embeddings/index.ts';
import type { IndexActivities } from '../../workflows/contracts/knowledge/items.ts';
import type { ActivityDeps } from '../deps.ts';
import { transactAsSystem } from '../support/as-system.ts';

/** An attempt ends long before its timeout, so that its slot serves other bases too. */
const passMs = 120_000;

/** Activities of `indexBase`, in the signed tenant of the workflow. */
export function createIndexActivities(deps: ActivityDeps): IndexActivities {
  return {
    async indexItems({ kbId }) {
      const options = { signal: cancellationSignal(), untilMs: performance.now() + passMs };
      return indexPendingItems(embeddingDeps(deps), kbId, options).catch((error: unknown) => {
        throw inTemporalsWords(error);
      });
    },
    async failItems({ kbId }) {
      const failed = await transactAsSystem(deps, (tx) => failPendingItems(tx, kbId));
      deps.log.warn({ kb_id: kbId, items: failed }, 'items were not embedded');
    },
  };
}

/** The dependencies of embedding on a worker, in the tenant of the running activity. */
export function embeddingDeps(deps: ActivityDeps): EmbeddingDeps {
  return {
    embedder: deps.embedder,
    currency: deps.env.billingCurrency,
    unpriced: deps.env.unpricedModel,
    transact: (work) => transactAsSystem(deps, work),
  };
}

/** Maps an error of embedding to Temporal's failure: a pause that a provider asks for is kept. The provider's message stays out of the history. */
export function inTemporalsWords(error: unknown): unknown {
  if (!(error instanceof EmbeddingError)) return error;
  const { fault, isRetryable, retryAfterS } = error;
  return ApplicationFailure.create({
    message: 'The texts could not be embedded.',
    type: fault,
    nonRetryable: !isRetryable,
    ...(retryAfterS === null ? {} : { nextRetryDelay: retryAfterS * 1_000 }),
  });
}
