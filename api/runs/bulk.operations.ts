import { post } from '../http/operation/operation.ts';
import { cancelMany } from './bulk-cancel.ts';
import { RunBatchCreate, RunBatchView, RunBulkCancel, RunBulkCancelView } from './bulk.schema.ts';
import { startBatch } from './start-batch.ts';

export const bulkOperations = {
  createRunBatch: post(
    '/runs/batch',
    {
      summary: 'Start many runs',
      description: 'Up to 100 starts in one transaction, in order; a refused start returns its reason and does not affect the others.',
      access: 'member',
      audit: 'submit',
      idempotent: true,
      spends: true,
      success: [200],
      maxBodyBytes: 8 * 1024 * 1024,
      example: { body: { items: [{ agent_slug: 'guide', input: { text: 'What is new?' } }] } },
      body: RunBatchCreate,
      view: RunBatchView,
    },
    async (ctx, { body }) => startBatch(ctx, body.items),
  ),

  cancelRuns: post(
    '/runs/cancel',
    {
      summary: 'Cancel many runs',
      description:
        'Cancels runs by id, or every live run that matches a filter: runs that have not begun end at once, the others are asked to end. Beyond 500 matches, the rest is cancelled after the reply (continues).',
      access: 'admin',
      audit: 'submit',
      idempotent: true,
      success: [202],
      example: { body: { filter: { session_key: 'chat-42' }, policy: 'interrupt', reason: 'The customer has left.' } },
      body: RunBulkCancel,
      view: RunBulkCancelView,
    },
    async (ctx, { body }) => cancelMany(ctx, body),
  ),
};
