import { Run } from '../run.entity.ts';
import { type Scoped, visibleToSql } from '../../scope.ts';
import { row } from '../../sql.ts';
import { parseFrame } from '../../streams/frame-text.ts';

/** Everything that must be known before a stream opens. */
export interface InitialFrameState {
  readonly runId: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly rootRunId: string;
  readonly parentRunId: string | null;
  readonly path: readonly string[];
  readonly headSeq: number;
  readonly isEnded: boolean;
}

interface OpeningRow {
  readonly organization_id: string;
  readonly workspace_id: string;
  readonly root_run_id: string;
  readonly parent_run_id: string | null;
  readonly head_seq: number;
  readonly ended: boolean;
  readonly first_frame: string | null;
}

/** Reads visibility, head and end of a run's stream in one query; returns null when the caller doesn't see the run. The path comes from the first frame. */
export async function initialFrameState(ctx: Scoped, runId: string): Promise<InitialFrameState | null> {
  const visible = visibleToSql(ctx, Run, 'r');
  const found = await row<OpeningRow>(
    ctx.em,
    `select s.organization_id, s.workspace_id, s.root_run_id, r.parent_run_id, s.head_seq, s.ended,
       (select c.frames[1] from run_frame_chunks c where c.run_id = r.id order by c.first_seq limit 1) as first_frame
     from runs r join run_streams s on s.run_id = r.id
     where r.id = ? and r.deleted_at is null and ${visible.sql}`,
    [runId, ...visible.params],
  );
  if (!found) return null;

  return {
    runId,
    organizationId: found.organization_id,
    workspaceId: found.workspace_id,
    rootRunId: found.root_run_id,
    parentRunId: found.parent_run_id,
    path: found.first_frame === null ? [] : parseFrame(found.first_frame).path,
    headSeq: found.head_seq,
    isEnded: found.ended,
  };
}
