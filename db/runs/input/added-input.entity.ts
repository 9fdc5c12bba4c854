import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, uuidColumn } from '../../columns.ts';
import { index, tenantIndexes } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';
import type { ContentBlock } from '../run-types.ts';

const schema = defineEntity({
  name: 'AddedInput',
  tableName: 'run_inputs',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('run_inputs', 'tenant'),
  indexes: [
    ...tenantIndexes('run_inputs'),
    index('run_inputs', 'run', '(run_id)'),
    index('run_inputs', 'unread', '(conversation_id) where read_at_step is null'),
  ],
  properties: {
    /** Also the id of the message that this input becomes when it is read. */
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    /** The run that received it. */
    runId: uuidColumn(),
    /** The conversation whose next run reads it if this run did not. */
    conversationId: uuidColumn(),
    content: p.json<ContentBlock[]>(),
    /** The model step that read it, of its own run or of a later run in the conversation. */
    readAtStep: p.integer().strictNullable(),
    createdAt: createdAtColumn(),
  },
});

/** Input that joined a run after its start; the run reads it before its next model call. */
export class AddedInput extends schema.class {}
schema.setClass(AddedInput);
