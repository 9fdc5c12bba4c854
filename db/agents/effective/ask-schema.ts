import { inNewestDialect, mapSchema } from '../../../workflows/contracts/tools/schema-dialect.ts';
import type { SubAgentBinding } from '../revisions/revision-document.ts';

type Schema = Readonly<Record<string, unknown>>;

/** Longest list of attachments and longest task that one agent hands to another. */
const attachmentsSchema = {
  type: 'array',
  maxItems: 20,
  items: { type: 'string', maxLength: 36 },
  description: 'Ids of attachments to hand over',
} as const;

/**
 * What the model sends to ask an agent: a task in words, and with an agent that takes structured input that input instead or beside it.
 * `inputSchema` is the asked agent's own.
 */
export function askInputSchema(inputSchema: Schema | null): Schema {
  const task = { type: 'string', minLength: 1, maxLength: 65_536, description: 'What the other agent is to do, with all it needs to know' };
  if (inputSchema === null)
    return {
      type: 'object',
      properties: { task, input: { type: 'object', description: 'Structured input' }, attachments: attachmentsSchema },
      required: ['task'],
      additionalProperties: false,
    };
  return {
    type: 'object',
    properties: { task, input: moved(inputSchema, '#/properties/input'), attachments: attachmentsSchema },
    required: ['input'],
    additionalProperties: false,
  };
}

/** The name under which the model asks an agent. */
export function askSlug(binding: Pick<SubAgentBinding, 'slug'>): string {
  return `ask_${binding.slug.replaceAll('.', '_')}`.slice(0, 64);
}

/** The schema as it reads within another document, which is of 2020-12: its local references start at its new place. */
function moved(schema: Schema, place: string): Schema {
  return mapSchema(inNewestDialect(schema), (node) => {
    const reference = node['$ref'];
    return typeof reference === 'string' && reference.startsWith('#') ? { ...node, $ref: `${place}${reference.slice(1)}` } : node;
  });
}
