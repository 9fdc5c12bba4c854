export const workspaceOperations = {};
