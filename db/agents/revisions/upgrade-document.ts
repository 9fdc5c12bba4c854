import { completeDocument, noBindings, type RevisionDocument } from './revision-document.ts';

/**
 * Returns the complete document of a stored one: rows written by an older release lack fields that were added later. Stored documents are immutable, so
 * they are completed on every read; a complete document is returned as it is.
 */
export function upgradeDocument(stored: Partial<RevisionDocument>): RevisionDocument {
  if (isComplete(stored)) return stored;
  const { tools, toolkits, skills, sub_agents, knowledge } = { ...noBindings, ...stored };
  return completeDocument(stored, { tools, toolkits, skills, sub_agents, knowledge });
}

const newestFields = ['toolkits', 'skills', 'sub_agents', 'knowledge', 'approvals', 'context', 'response_format', 'metadata'] as const;

function isComplete(stored: Partial<RevisionDocument>): stored is RevisionDocument {
  const isWhole = newestFields.every((field) => stored[field] !== undefined) && stored.input_schema !== undefined;
  return isWhole && stored.limits?.on_budget !== undefined;
}
