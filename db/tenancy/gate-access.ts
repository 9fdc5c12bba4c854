import { gateGrants } from '../identity/gates.sql.ts';
import { streamGrants } from '../streams/append-frames.sql.ts';

export type GateCommand = 'select' | 'insert' | 'update' | 'delete';

/** Which commands the definer functions need on which table: the source of longhaul_gate's policies and grants. */
export const gateAccess: Readonly<Record<string, readonly GateCommand[] | undefined>> = { ...gateGrants, ...streamGrants };
