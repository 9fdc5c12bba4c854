import { defineEntity } from '@mikro-orm/core';
import { bigintColumn, createdAtColumn, textArrayColumn, uuidColumn } from '../columns.ts';
import { tenantPolicies } from '../policies.ts';

const schema = defineEntity({
  name: 'RunFrameChunk',
  tableName: 'run_frame_chunks',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('run_frame_chunks', 'tenant', { insertWhere: 'first_seq = 1 and last_seq = 1 and cardinality(frames) = 1' }),
  properties: {
    runId: uuidColumn().primary(),
    firstSeq: bigintColumn().primary(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    lastSeq: bigintColumn(),
    /** The exact bytes sent, one element per frame. */
    frames: textArrayColumn(),
    createdAt: createdAtColumn(),
  },
});

/** Frames as they were produced: the first frame of a run without a parent is written with its row, all others by `append_frames`. */
export class RunFrameChunk extends schema.class {}
schema.setClass(RunFrameChunk);
