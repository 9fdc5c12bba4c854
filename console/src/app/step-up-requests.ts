/** A request that waits until the person has shown again who they are. */
export interface StepUpRequest {
  /** `false`: the person has cancelled. */
  readonly settle: (isDone: boolean) => void;
}

const listeners = new Set<() => void>();
let waiting: readonly StepUpRequest[] = [];

export const stepUps = {
  get: () => waiting,
  subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  /** One answer serves all requests that wait. */
  settleAll(isDone: boolean): void {
    const settled = waiting;
    change([]);
    for (const { settle } of settled) settle(isDone);
  },
};

/** Asks for a second factor, or the password of somebody without one. Resolves to false when the person does not want to. */
export function askStepUp(): Promise<boolean> {
  return new Promise((resolve) => change([...waiting, { settle: resolve }]));
}

function change(next: readonly StepUpRequest[]): void {
  waiting = next;
  for (const listener of listeners) listener();
}
