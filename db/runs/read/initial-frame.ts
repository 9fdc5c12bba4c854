import { sql } from 'kysely';
import type { Condition } from '../../condition.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
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

const initialFrame = prepared(({ runId, visible }: ParametersOf<{ readonly runId: string; readonly visible: Condition }>) =>
  query
    .selectFrom('runs as r')
    .innerJoin('run_streams as s', 's.runId', 'r.id')
    .where('r.id', '=', runId)
    .where('r.deletedAt', 'is', null)
    .where(visible)
    .select(['s.organizationId', 's.workspaceId', 's.rootRunId', 'r.parentRunId', 's.headSeq', 's.ended as isEnded'])
    .select(({ selectFrom }) =>
      selectFrom('run_frame_chunks as c')
        .select(sql<string>`c.frames[1]`.as('frame'))
        .whereRef('c.runId', '=', 'r.id')
        .orderBy('c.firstSeq')
        .limit(sql.lit(1))
        .as('firstFrame'),
    ),
);

/** Reads visibility, head and end of a run's stream in one query; returns null when the caller doesn't see the run. The path comes from the first frame. */
export async function initialFrameState(ctx: Scoped, runId: string): Promise<InitialFrameState | null> {
  const found = await row(ctx.em, initialFrame({ runId, visible: visibleToSql(ctx, Run, 'r') }));
  if (!found) return null;

  const { firstFrame, ...head } = found;
  return { runId, ...head, path: firstFrame === null ? [] : parseFrame(firstFrame).path };
}
