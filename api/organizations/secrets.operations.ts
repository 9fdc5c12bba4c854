export const secretOperations = {};
