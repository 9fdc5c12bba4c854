export const operatorOrganizationOperations = {};
