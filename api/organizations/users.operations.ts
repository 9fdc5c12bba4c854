export const userOperations = {};
