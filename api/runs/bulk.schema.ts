import Type from 'typebox';
import { ErrorEnvelope } from '../http/reply/error.schema.ts';
import { closed, exactlyOneOf, idOf, integer, listOf, nullable, oneOf, stating } from '../http/input/schema.ts';
import { RunCancel, RunCreate, RunFilters, RunInput, RunView } from './run.schema.ts';

const { agent_id, session_key, trigger_id, evaluation_run_id } = RunFilters.properties;

const RunCancelFilter = stating(
  closed(
    { agent_id, session_key, trigger_id, evaluation_run_id },
    { $id: 'RunCancelFilter', description: 'Matches live runs; at least one field is required, and all given fields must match' },
  ),
  { minProperties: 1 },
);

export const RunBulkCancel = stating(
  closed(
    {
      ...RunCancel.properties,
      ids: Type.Optional(
        listOf(idOf('Run'), { minItems: 1, maxItems: 200, description: 'The runs; exactly one of ids and filter is required' }),
      ),
      filter: Type.Optional(RunCancelFilter),
    },
    { $id: 'RunBulkCancel' },
  ),
  exactlyOneOf('ids', 'filter'),
);

export const RunBulkCancelView = closed(
  {
    matched: integer({ description: 'Number of runs found; with a filter, including those that are still to be cancelled' }),
    cancelled: integer({ description: 'Runs that ended at once because they had not begun' }),
    cancelling: integer({ description: 'Runs that were asked to end' }),
    already_finished: integer(),
    not_found: integer({ description: 'Ids of runs that do not exist or that the caller cannot see' }),
    continues: Type.Boolean({ description: 'Whether more runs match than one request can end; the rest is cancelled after the reply' }),
  },
  { $id: 'RunBulkCancelView', description: 'The outcome of a bulk cancel so far' },
);

const { wait_timeout_s: _wait, review: _review, input: _input, ...startProperties } = RunCreate.properties;

const RunBatchStart = closed(
  { ...startProperties, input: RunInput, mode: Type.Optional(oneOf(['async'], { default: 'async' })) },
  { $id: 'RunBatchStart', description: 'A start as in POST /runs, without waiting' },
);

export const RunBatchCreate = closed(
  { items: listOf(RunBatchStart, { minItems: 1, maxItems: 100, description: 'Started in this order' }) },
  { $id: 'RunBatchCreate' },
);

const RunBatchItem = closed(
  { index: integer({ maximum: 99 }), status: oneOf(['created', 'failed']), run: nullable(RunView), error: nullable(ErrorEnvelope) },
  { $id: 'RunBatchItem', description: 'The outcome of one start' },
);

export const RunBatchView = closed(
  { items: listOf(RunBatchItem, { maxItems: 100 }), created: integer(), failed: integer() },
  { $id: 'RunBatchView', description: 'The outcome of each start, in order' },
);
