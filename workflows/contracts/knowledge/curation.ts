/** What an item of a base is. */
export const knowledgeItemKinds = ['document', 'fact', 'preference', 'procedure', 'event', 'qa', 'summary'] as const;
export type KnowledgeItemKind = (typeof knowledgeItemKinds)[number];

/** Who wrote an item. */
export const knowledgeOrigins = ['human', 'agent', 'import', 'derived'] as const;
export type KnowledgeOrigin = (typeof knowledgeOrigins)[number];

/** How far an item or a skill has come with its curators. */
export const curationStates = ['pending', 'reviewed', 'promoted', 'superseded', 'retired'] as const;
export type CurationState = (typeof curationStates)[number];
