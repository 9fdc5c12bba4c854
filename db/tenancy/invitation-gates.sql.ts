import type { GateSet } from '../identity/gate-parts.sql.ts';

export const invitationGates: GateSet = { functions: [], grants: {}, sql: [] };
