import { knowledgeWriteInputSchema } from '../../tools/builtin-schemas.ts';
import { approvalOf, type EffectiveTool } from './effective-tools.ts';
import type { RevisionDocument } from '../revisions/revision-document.ts';
import { skillLoadTool } from './skill-load-tool.ts';

const tool: EffectiveTool = {
  ...skillLoadTool,
  name: 'knowledge_write',
  description: 'Keeps something in a knowledge base of this agent, where it waits for a curator.',
  input_schema: knowledgeWriteInputSchema,
  effect: 'write',
  concurrency: 'write',
};

/**
 * Returns the builtin, without a row, that every run with a base bound for writing has, whether or not its author bound one. It needs an approval when the
 * revision requires one for writes.
 */
export function knowledgeWriteTool(document: Pick<RevisionDocument, 'approvals'>): EffectiveTool {
  const approval = approvalOf({ critical: false, effect: 'write', approval: 'default' }, document);
  return { ...tool, approval, asks: document.approvals.write === 'ask' ? ['write'] : [] };
}

/** Values common to all of these tools. */
export { tool as knowledgeWriteDefaults };
