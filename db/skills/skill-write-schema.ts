/** The input of the model's tool for writing a skill. */
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
