export type Json = Record<string, unknown>;

/** The operations that somebody meets first: signing in, making an agent and its tools, running it. */
export const firstOperations: readonly string[] = [
  'login',
  'createWorkspace',
  'createServiceKey',
  'putSecret',
  'createAgent',
  'listAgents',
  'getAgent',
  'createAgentRevision',
  'activateAgentRevision',
  'createTool',
  'testTool',
  'setToolSecrets',
  'createToolkit',
  'createToolkitRevision',
  'discoverMcpServer',
  'syncMcpToolkit',
  'createAttachment',
  'createRun',
  'getRun',
  'listRuns',
  'streamRun',
  'cancelRun',
  'addRunInput',
  'listRunMessages',
  'listRunApprovals',
  'resolveRunApprovals',
];

export function asObject(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.fromEntries(Object.entries(value)) : {};
}

export function asArray(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
