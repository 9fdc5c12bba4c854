import { knowledgeWriteInputSchema } from '../../knowledge/items/write-tool-schema.ts';
import { approvalOf, type EffectiveTool } from './effective-tools.ts';
import type { RevisionDocument } from '../revisions/revision-document.ts';
import { skillLoadTool } from '../../skills/skill-load-tool.ts';

const tool: EffectiveTool = {
  ...skillLoadTool,
  name: 'knowledge_write',
  description: 'Keeps something in a knowledge base of this agent, where it waits for a curator.',
  input_schema: knowledgeWriteInputSchema,
  effect: 'write',
  concurrency: 'write',
};

/** The builtin that every run with a base bound for writing has, whether or not its author bound one: it has no row. It asks as the revision has writes ask. */
export function knowledgeWriteTool(document: Pick<RevisionDocument, 'approvals'>): EffectiveTool {
  const approval = approvalOf({ critical: false, effect: 'write', approval: 'default' }, document);
  return { ...tool, approval, asks: document.approvals.write === 'ask' ? ['write'] : [] };
}

/** What is alike in each of them. */
export { tool as knowledgeWriteDefaults };
