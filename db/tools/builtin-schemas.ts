import { knowledgeItemKinds } from '../../workflows/contracts/knowledge/curation.ts';

/** The schema of what the model sends to load a skill. */
export const skillLoadInputSchema = {
  type: 'object',
  properties: {
    slug: { type: 'string', maxLength: 64, description: 'The skill, as the list names it' },
    doc: { type: 'string', maxLength: 200, description: 'One of its documents; left out: the skill itself' },
    offset: { type: 'integer', minimum: 0, description: 'Character of the text to go on from' },
  },
  required: ['slug'],
  additionalProperties: false,
} as const;

/** The schema of what the model sends to write a skill. */
export const skillWriteInputSchema = {
  type: 'object',
  properties: {
    slug: {
      type: 'string',
      minLength: 1,
      maxLength: 64,
      pattern: '^[a-z0-9][a-z0-9._-]*$',
      description: 'Its name, for instance release-notes',
    },
    description: { type: 'string', minLength: 1, maxLength: 1_024, description: 'What it is good for and when to load it' },
    instructions: { type: 'string', minLength: 1, maxLength: 65_536, description: 'The skill itself, in markdown' },
    derived_from: { type: 'string', maxLength: 64, description: 'The skill of this run that it was made from, if any' },
  },
  required: ['slug', 'description', 'instructions'],
  additionalProperties: false,
} as const;

/** The schema of what the model sends to search the knowledge bases of its run. */
export const knowledgeSearchInputSchema = {
  type: 'object',
  properties: {
    query: { type: 'string', minLength: 1, maxLength: 2_000, description: 'Words or a question' },
    bases: {
      type: 'array',
      maxItems: 48,
      items: { type: 'string', maxLength: 120 },
      description: 'Slugs of bases; left out: all that you may read',
    },
    top_k: { type: 'integer', minimum: 1, maximum: 20, description: 'Passages at most' },
  },
  required: ['query'],
  additionalProperties: false,
} as const;

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
