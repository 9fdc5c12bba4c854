export const invitationOperations = {};
