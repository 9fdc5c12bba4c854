/** Whether a call of a tool only reads or also changes something. */
export const toolEffects = ['read', 'write'] as const;
/** What may run beside a call of a tool. */
export const toolConcurrencies = ['read', 'write', 'exclusive'] as const;

export const toolkitRevisionStates = ['syncing', 'unchanged', 'inactive', 'failed', 'active', 'superseded'] as const;
export type ToolkitRevisionState = (typeof toolkitRevisionStates)[number];
export const toolkitRevisionOrigins = ['sync', 'openapi', 'manual'] as const;
export type ToolkitRevisionOrigin = (typeof toolkitRevisionOrigins)[number];
