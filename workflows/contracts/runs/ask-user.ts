/** What the model may ask a person. */
export const askUserInputSchema = {
  type: 'object',
  properties: {
    question: { type: 'string', minLength: 1, maxLength: 4_000, description: 'What you need to know, in words that stand alone' },
    options: {
      type: 'array',
      items: { type: 'string', minLength: 1, maxLength: 500 },
      minItems: 1,
      maxItems: 20,
      description: 'The answers to choose from; left out: any text',
    },
  },
  required: ['question'],
  additionalProperties: false,
} as const;

/** Returns the question that a call of `ask_user` asks a person, and the schema of the answer. */
export function questionOf(args: Readonly<Record<string, unknown>>): {
  readonly prompt: string;
  readonly responseSchema: Record<string, unknown>;
} {
  const { question, options } = args;
  const prompt = typeof question === 'string' ? question : '';
  if (Array.isArray(options) && options.length > 0)
    return { prompt, responseSchema: { type: 'string', enum: [...new Set<unknown>(options)] } };
  return { prompt, responseSchema: { type: 'string', minLength: 1, maxLength: 32_768 } };
}
