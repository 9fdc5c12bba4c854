import Type, { type Static } from 'typebox';
import { knowledgeSubjectKinds } from '../../db/knowledge/bases/knowledge-base.entity.ts';
import { purgeModes, type PurgeRequest } from '../../domain/knowledge/upkeep/purge.ts';
import { invalid } from '../../workflows/contracts/failure.ts';
import { closed, idOf, integer, listOf, oneOf, text } from '../http/input/schema.ts';

export const PurgeParams = closed({ kb_id: idOf('KnowledgeBase') });

export const KnowledgePurge = closed(
  {
    confirm: text(120, { minLength: 1, description: 'The slug of the knowledge base' }),
    mode: oneOf(purgeModes, {
      description:
        'tombstones: items deleted at least a number of days ago. items: those in item_ids. subject: items whose evidence names a subject, and whatever was derived from them. all: everything, and the base itself',
    }),
    item_ids: Type.Optional(listOf(idOf('KnowledgeItem'), { minItems: 1, maxItems: 1_000 })),
    subject_kind: Type.Optional(oneOf(knowledgeSubjectKinds)),
    subject_id: Type.Optional(text(200, { minLength: 1 })),
    older_than_days: Type.Optional(
      integer({ minimum: 0, maximum: 3_650, description: 'Only for tombstones; defaults to the retention_days of the policy' }),
    ),
  },
  { $id: 'KnowledgePurge', description: 'What is permanently removed' },
);

/** A body by the names of the code. 422 for half a subject. */
export function toPurgeRequest(body: Static<typeof KnowledgePurge>): PurgeRequest {
  const { confirm, mode, item_ids: itemIds, subject_kind: kind, subject_id: id, older_than_days: olderThanDays } = body;
  if ((kind === undefined) !== (id === undefined))
    throw invalid(kind === undefined ? '/subject_kind' : '/subject_id', 'required', 'subject_kind and subject_id must be given together');
  return {
    confirm,
    mode,
    ...(itemIds === undefined ? {} : { itemIds }),
    ...(kind === undefined || id === undefined ? {} : { subject: { kind, id } }),
    ...(olderThanDays === undefined ? {} : { olderThanDays }),
  };
}
