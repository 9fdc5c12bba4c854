import { workflowIds } from '../../workflows/contracts/queues.ts';
import type { KnowledgeRun } from './knowledge-run.entity.ts';

/** What says which workflow does the work of a run. `syncNo`: of the source whose run this is; null for other kinds, and where the source has another run by now. */
export interface RunAtWork extends Pick<KnowledgeRun, 'id' | 'kind' | 'targetKbId' | 'sourceId'> {
  readonly syncNo: number | null;
}

/** The id of the workflow that does the work of a run; null where none does any more. */
export function workflowOfRun({ id, kind, targetKbId, sourceId, syncNo }: RunAtWork): string | null {
  if (kind === 'reembed') return targetKbId === null ? null : workflowIds.reembed(targetKbId);
  if (kind !== 'ingest') return workflowIds.knowledgeRun(id);
  return sourceId === null || syncNo === null ? null : workflowIds.ingest(sourceId, syncNo);
}
