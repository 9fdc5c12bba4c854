import { lookupFunction, impersonationJson, type DefinerFunctions } from '../../identity/lookup/lookup-parts.sql.ts';

/** The look-up of an impersonation's token. */
export const impersonationFunctions: DefinerFunctions = {
  functions: ['gate_impersonation(bytea)'],
  grants: { impersonations: ['select'] },
  sql: [
    lookupFunction(
      'gate_impersonation(p_hash bytea)',
      `
  select ${impersonationJson}
  from impersonations i
  where i.token_hash = p_hash
`,
    ),
  ],
};
