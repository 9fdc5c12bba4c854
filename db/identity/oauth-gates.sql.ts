import type { GateSet } from './gate-parts.sql.ts';

export const oauthGates: GateSet = { functions: [], grants: {}, sql: [] };
