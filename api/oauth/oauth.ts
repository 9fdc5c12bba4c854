import { area } from '../http/operation.ts';

/** The OAuth 2.1 server: discovery, authorization, tokens, registration. */
export const oauth = area('Oauth', {});
