import { gateFunctions, gateGrants } from '../identity/gates.sql.ts';
import { streamFunctions, streamGrants } from '../streams/append-frames.sql.ts';

export type GateCommand = 'select' | 'insert' | 'update' | 'delete';

/** Which commands the definer functions need on which table: the source of longhaul_gate's policies and grants. */
export const gateAccess: Readonly<Record<string, readonly GateCommand[] | undefined>> = { ...gateGrants, ...streamGrants };

/** The one list of definer functions; each belongs to longhaul_gate and only longhaul_app may execute it. */
export const definerFunctions: readonly string[] = [...gateFunctions, ...streamFunctions];
