export const oauthClientOperations = {};
