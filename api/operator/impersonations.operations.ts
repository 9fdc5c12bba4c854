export const impersonationOperations = {};
