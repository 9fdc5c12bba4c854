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
