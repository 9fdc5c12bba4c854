export const organizationOperations = {};
