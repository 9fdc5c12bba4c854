import Type from 'typebox';
import { ratings, voterKinds } from '../../db/feedback/feedback.entity.ts';
import type { FeedbackGroup } from '../../db/feedback/groups.ts';
import type { FeedbackRow } from '../../db/feedback/votes.ts';
import { iso } from '../../db/sql.ts';
import { wilsonLower } from '../../domain/feedback/wilson.ts';
import { closed, idOf, integer, listOf, nullable, oneOf, text, Timestamp } from '../http/input/schema.ts';

export const VotedRunParams = closed({ run_id: idOf('Run') });

const Comment = text(4_000, { minLength: 1 });
const Correction = text(20_000, { minLength: 1, description: 'The correct answer' });
const Tags = listOf(text(40, { minLength: 1 }), { maxItems: 10, uniqueItems: true });

export const FeedbackPut = closed(
  {
    rating: oneOf(ratings),
    comment: Type.Optional(nullable(Comment)),
    tags: Type.Optional(Tags),
    correction: Type.Optional(nullable(Correction)),
  },
  { $id: 'FeedbackPut', description: 'The complete vote: omitted fields are cleared' },
);

const Voter = closed({ kind: oneOf(voterKinds), id: text(200) }, { $id: 'Voter', description: 'Whose vote it is' });

export const FeedbackView = closed(
  {
    id: idOf('Other'),
    run_id: idOf('Run'),
    agent_id: idOf('Agent'),
    agent_revision_id: nullable(idOf('AgentRevision', 'The revision that the run used')),
    subject: Voter,
    rating: oneOf(ratings),
    comment: nullable(Comment),
    tags: Tags,
    correction: nullable(Correction),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { $id: 'FeedbackView', description: 'One vote on a run' },
);

export const FeedbackFilters = closed({
  agent_id: Type.Optional(idOf('Agent')),
  rating: Type.Optional(oneOf(ratings, { description: 'Only counts these votes' })),
  from: Type.Optional(Timestamp),
  to: Type.Optional(Timestamp),
});

const Rate = (description: string) => Type.Number({ minimum: 0, maximum: 1, description });

export const FeedbackAggregateView = closed(
  {
    agent_id: idOf('Agent'),
    agent_revision_id: nullable(idOf('AgentRevision')),
    revision_number: nullable(integer({ minimum: 1 })),
    up: integer(),
    down: integer(),
    total: integer(),
    comments: integer({ description: 'Votes with a comment' }),
    corrections: integer({ description: 'Votes with a correction' }),
    up_rate: Rate('up / total'),
    up_rate_lower: Rate('Lower bound of the 95 % Wilson interval of up_rate; sort by it so that few votes don’t dominate'),
    first_at: Timestamp,
    last_at: Timestamp,
  },
  { $id: 'FeedbackAggregateView', description: 'Votes on one revision of an agent' },
);

/** The wire form of a vote. */
export function toFeedbackView(row: FeedbackRow) {
  return {
    id: row.id,
    run_id: row.runId,
    agent_id: row.agentId,
    agent_revision_id: row.agentRevisionId,
    subject: { kind: row.subjectKind, id: row.subjectId },
    rating: row.rating,
    comment: row.comment,
    tags: row.tags,
    correction: row.correction,
    created_at: iso(row.createdAt),
    updated_at: iso(row.updatedAt),
  };
}

/** The wire form of the votes on one revision. */
export function toFeedbackAggregateView(group: FeedbackGroup) {
  const total = group.up + group.down;
  return {
    agent_id: group.agentId,
    agent_revision_id: group.agentRevisionId,
    revision_number: group.revisionNumber,
    up: group.up,
    down: group.down,
    total,
    comments: group.comments,
    corrections: group.corrections,
    up_rate: rounded(group.up / total),
    up_rate_lower: rounded(wilsonLower(group.up, total)),
    first_at: iso(group.firstAt),
    last_at: iso(group.lastAt),
  };
}

/** Rates have at most 6 decimals. */
function rounded(value: number): number {
  return Number(value.toFixed(6));
}
