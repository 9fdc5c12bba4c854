import Type, { type Static } from 'typebox';
import { defaultPolicy } from '../../db/knowledge/bases/maintained-base.ts';
import type { FindingRow } from '../../db/knowledge/upkeep/findings.ts';
import { knowledgeFindingKinds, knowledgeFindingStates, knowledgeResolutions } from '../../db/knowledge/upkeep/knowledge-finding.entity.ts';
import { iso } from '../../db/sql.ts';
import { findingActions, undoUntil } from '../../domain/knowledge/upkeep/resolve-finding.ts';
import { ActorRef, closed, FreeObject, idOf, listOf, nullable, oneOf, text, Timestamp } from '../http/input/schema.ts';

export const FindingParams = closed({
  finding_id: idOf('KnowledgeFinding', 'The finding, by the id that `GET /knowledge-findings` shows'),
});

export const KnowledgeFindingView = closed(
  {
    id: idOf('KnowledgeFinding'),
    kb_id: idOf('KnowledgeBase'),
    run_id: nullable(idOf('KnowledgeRun', 'The run that noticed it')),
    kind: oneOf(knowledgeFindingKinds),
    state: oneOf(knowledgeFindingStates),
    item_ids: listOf(idOf('KnowledgeItem'), { description: 'The older one first' }),
    score: nullable(Type.Number({ minimum: 0, maximum: 1, description: 'How similar two items are' })),
    detail: FreeObject,
    resolution: nullable(oneOf(knowledgeResolutions)),
    reason: nullable(text(500)),
    resolved_by: nullable(ActorRef),
    resolved_at: nullable(Timestamp),
    undo_until: nullable(Type.String({ format: 'date-time', description: 'Until when its resolution can be undone' })),
    created_at: Timestamp,
  },
  { $id: 'KnowledgeFindingView', description: 'An issue that a run found in items, for a person to resolve' },
);

export const FindingFilters = closed({
  kb_id: Type.Optional(idOf('KnowledgeBase', 'Findings about items of this base')),
  kind: Type.Optional(oneOf(knowledgeFindingKinds, { description: 'Findings of this kind' })),
  state: Type.Optional(oneOf(knowledgeFindingStates, { description: 'Findings in this state' })),
});

export const FindingResolve = closed(
  {
    action: oneOf([...findingActions, 'undo']),
    keep_item_id: Type.Optional(idOf('KnowledgeItem', 'The item that stays; only with merge and supersede')),
    item_id: Type.Optional(idOf('KnowledgeItem', 'The item to retire; only with retire')),
    reason: Type.Optional(text(500)),
  },
  { $id: 'FindingResolve' },
);

/** The view of a finding. */
export function toKnowledgeFindingView(row: FindingRow): Static<typeof KnowledgeFindingView> {
  const days = row.retentionDays ?? defaultPolicy.retentionDays;
  return {
    id: row.id,
    kb_id: row.kbId,
    run_id: row.runId,
    kind: row.kind,
    state: row.state,
    item_ids: row.itemIds,
    score: row.score === null ? null : Number(row.score),
    detail: row.detail,
    resolution: row.resolution,
    reason: row.reason,
    resolved_by: row.resolvedBy,
    resolved_at: iso(row.resolvedAt),
    undo_until: row.resolution === null || row.resolvedAt === null ? null : undoUntil(new Date(row.resolvedAt), days).toISOString(),
    created_at: iso(row.createdAt),
  };
}
