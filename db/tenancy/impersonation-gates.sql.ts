import type { GateSet } from '../identity/gate-parts.sql.ts';

export const impersonationGates: GateSet = { functions: [], grants: {}, sql: [] };
