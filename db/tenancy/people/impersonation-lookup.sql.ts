import { gate, impersonationJson, type GateSet } from '../../identity/lookup/lookup-parts.sql.ts';

/** The look-up of an impersonation's token. */
export const impersonationGates: GateSet = {
  functions: ['gate_impersonation(bytea)'],
  grants: { impersonations: ['select'] },
  sql: [
    gate(
      'gate_impersonation(p_hash bytea)',
      `
  select ${impersonationJson}
  from impersonations i
  where i.token_hash = p_hash
`,
    ),
  ],
};
