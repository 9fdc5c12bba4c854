import Type from 'typebox';
import { ErrorEnvelope } from '../http/reply/error.schema.ts';
import { closed, idOf, integer, listOf, nullable, oneOf } from '../http/input/schema.ts';
import { RunCancel, RunCreate, RunFilters, RunInput, RunView } from './run.schema.ts';

const { agent_id, session_key, trigger_id, evaluation_run_id } = RunFilters.properties;

const RunCancelFilter = closed(
  { agent_id, session_key, trigger_id, evaluation_run_id },
  { $id: 'RunCancelFilter', description: 'Live runs of these; at least one is demanded, and all that are given have to fit' },
);

export const RunBulkCancel = closed(
  {
    ...RunCancel.properties,
    ids: Type.Optional(listOf(idOf('Run'), { minItems: 1, maxItems: 200, description: 'The runs; exactly one of ids and filter' })),
    filter: Type.Optional(RunCancelFilter),
  },
  { $id: 'RunBulkCancel' },
);

export const RunBulkCancelView = closed(
  {
    matched: integer({ description: 'Runs found; with a filter all of them, also those that are still to be cancelled' }),
    cancelled: integer({ description: 'Ended at once, since they had not begun' }),
    cancelling: integer({ description: 'Asked to end' }),
    already_finished: integer(),
    not_found: integer({ description: 'Ids that name no run which the caller sees' }),
    continues: Type.Boolean({ description: 'More match than one request ends: the rest is cancelled from now on' }),
  },
  { $id: 'RunBulkCancelView', description: 'What a cancel of many runs has come to so far' },
);

const { wait_timeout_s: _wait, review: _review, input: _input, ...startProperties } = RunCreate.properties;

const RunBatchStart = closed(
  { ...startProperties, input: RunInput, mode: Type.Optional(oneOf(['async'], { default: 'async' })) },
  { $id: 'RunBatchStart', description: 'A start as of POST /runs, without waiting' },
);

export const RunBatchCreate = closed(
  { items: listOf(RunBatchStart, { minItems: 1, maxItems: 100, description: 'Started in this order' }) },
  { $id: 'RunBatchCreate' },
);

const RunBatchItem = closed(
  { index: integer({ maximum: 99 }), status: oneOf(['created', 'failed']), run: nullable(RunView), error: nullable(ErrorEnvelope) },
  { $id: 'RunBatchItem', description: 'What became of one start' },
);

export const RunBatchView = closed(
  { items: listOf(RunBatchItem, { maxItems: 100 }), created: integer(), failed: integer() },
  { $id: 'RunBatchView', description: 'What became of each start, in their order' },
);
