import { knowledgeItemKinds } from './knowledge-item.entity.ts';

const part = { type: 'string', minLength: 1, maxLength: 200 } as const;

/** The schema of what the model sends to store knowledge. */
export const knowledgeWriteInputSchema = {
  type: 'object',
  properties: {
    content: {
      type: 'string',
      minLength: 1,
      maxLength: 20_000,
      description: 'What is to be known: a text that can be understood on its own',
    },
    title: { type: 'string', minLength: 1, maxLength: 300, description: 'A few words that say what it is about' },
    base: { type: 'string', maxLength: 120, description: 'Slug of the base; needed where you write to several' },
    kind: { type: 'string', enum: knowledgeItemKinds, description: 'Left out: what the base usually holds' },
    tags: { type: 'array', maxItems: 30, items: { type: 'string', minLength: 1, maxLength: 60 } },
    fact: {
      type: 'object',
      properties: { subject: part, relation: part, object: part },
      required: ['subject', 'relation', 'object'],
      additionalProperties: false,
      description: 'The same as one statement, if it is one',
    },
  },
  required: ['content'],
  additionalProperties: false,
} as const;
