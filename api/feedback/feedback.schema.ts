import Type from 'typebox';
import { ratings, voterKinds } from '../../db/feedback/feedback.entity.ts';
import { closed, idOf, integer, listOf, nullable, oneOf, text, Timestamp } from '../http/schema.ts';

export const VotedRunParams = closed({ run_id: idOf('Run') });

const Comment = text(4_000, { minLength: 1 });
const Correction = text(20_000, { minLength: 1, description: 'What should have been said' });
const Tags = listOf(text(40, { minLength: 1 }), { maxItems: 10, uniqueItems: true });

export const FeedbackPut = closed(
  {
    rating: oneOf(ratings),
    comment: Type.Optional(nullable(Comment)),
    tags: Type.Optional(Tags),
    correction: Type.Optional(nullable(Correction)),
  },
  { $id: 'FeedbackPut', description: 'The vote, whole: what is absent is cleared' },
);

const Voter = closed({ kind: oneOf(voterKinds), id: text(200) }, { $id: 'Voter', description: 'Whose vote it is' });

export const FeedbackView = closed(
  {
    id: idOf('Other'),
    run_id: idOf('Run'),
    agent_id: idOf('Agent'),
    agent_revision_id: nullable(idOf('AgentRevision', 'The one that the run used')),
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
  rating: Type.Optional(oneOf(ratings, { description: 'Counts these votes alone' })),
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
    up_rate_lower: Rate('Lower end of the 95 % Wilson interval of up_rate: sort by it, and one lucky vote does not win'),
    first_at: Timestamp,
    last_at: Timestamp,
  },
  { $id: 'FeedbackAggregateView', description: 'The votes on one revision of an agent' },
);
