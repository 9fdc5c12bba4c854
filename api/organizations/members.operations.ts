export const memberOperations = {};
