/** The filters of the list of runs, as they stand in its address. */
export interface RunFilters {
  readonly agent_id?: string;
  readonly status?: RunStatus;
  readonly waiting_on?: WaitingOn;
  readonly session_key?: string;
  readonly subject_id?: string;
  readonly trigger_id?: string;
  readonly parent_run_id?: string;
  readonly evaluation_run_id?: string;
  readonly binding_id?: string;
  readonly from?: string;
  readonly to?: string;
}

export const runStatuses = ['queued', 'running', 'waiting', 'cancelling', 'succeeded', 'failed', 'cancelled'] as const;
export type RunStatus = (typeof runStatuses)[number];
export const waitingOns = ['approval', 'input', 'client_tool', 'auth', 'budget', 'timer'] as const;
export type WaitingOn = (typeof waitingOns)[number];

/** Filters by an id or a text, which links from other views set. */
export const textFilters = [
  'session_key',
  'subject_id',
  'agent_id',
  'trigger_id',
  'parent_run_id',
  'evaluation_run_id',
  'binding_id',
  'from',
  'to',
] as const;

/** Reads filters out of an address; what is none, or has no value, is left out. */
export function parseRunFilters(search: Readonly<Record<string, unknown>>): RunFilters {
  const texts = textFilters.flatMap((name) => {
    const value = search[name];
    return typeof value === 'string' && value !== '' ? [[name, value] as const] : [];
  });
  const status = runStatuses.find((one) => one === search['status']);
  const waitingOn = waitingOns.find((one) => one === search['waiting_on']);
  return { ...Object.fromEntries(texts), ...(status && { status }), ...(waitingOn && { waiting_on: waitingOn }) };
}

export function isRunLive(status: string): boolean {
  return status === 'queued' || status === 'running' || status === 'waiting' || status === 'cancelling';
}
