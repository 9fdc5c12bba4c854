import { inNewestDialect, mapSchema } from '../../../workflows/contracts/tools/schema-dialect.ts';
import type { SubAgentBinding } from '../revisions/revision-document.ts';

type Schema = Readonly<Record<string, unknown>>;

/** Attachments that one agent may hand to another. */
const attachmentsSchema = {
  type: 'array',
  maxItems: 20,
  items: { type: 'string', maxLength: 36 },
  description: 'Ids of attachments to hand over',
} as const;

/**
 * Returns the schema of what the model sends to delegate to an agent: a task in words or, if the agent takes structured input, that input with or without a
 * task. `inputSchema` is the delegate's own.
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

/** Returns the name of the tool by which the model calls an agent. */
export function askSlug(binding: Pick<SubAgentBinding, 'slug'>): string {
  return `ask_${binding.slug.replaceAll('.', '_')}`.slice(0, 64);
}

/** Returns the schema as part of another document, which uses dialect 2020-12: its local references start at its new place. */
function moved(schema: Schema, place: string): Schema {
  return mapSchema(inNewestDialect(schema), (node) => {
    const reference = node['$ref'];
    return typeof reference === 'string' && reference.startsWith('#') ? { ...node, $ref: `${place}${reference.slice(1)}` } : node;
  });
}
