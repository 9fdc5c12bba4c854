/**
 * As whom, and of what part of the deployment, an operator's tab asks. Both are of this tab alone. The token of an impersonation lies in its memory, so a reload
 * ends it here; the view is no secret, and outlives a reload.
 */
export interface Acting {
  readonly impersonation: { readonly id: string; readonly target_user_id: string; readonly expires_at: string };
  readonly token: string;
  /** The target's name or address. */
  readonly name: string;
}

export interface NarrowView {
  readonly organizationId: string;
  readonly name: string;
}

const viewKey = 'longhaul-view';
const listeners = new Set<() => void>();
let acting: Acting | null = null;
let narrowing: NarrowView | null = readView();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function tell(): void {
  for (const listener of listeners) listener();
}

export const impersonation = {
  get: () => acting,
  subscribe,
  begin(next: Acting): void {
    acting = next;
    tell();
  },
  end(): void {
    if (acting === null) return;
    acting = null;
    tell();
  },
};

export const view = {
  get: () => narrowing,
  subscribe,
  set(next: NarrowView | null): void {
    narrowing = next;
    if (next === null) sessionStorage.removeItem(viewKey);
    else sessionStorage.setItem(viewKey, JSON.stringify(next));
    tell();
  },
};

/** What every request carries while the operator has narrowed the view; nobody else may send it, so an impersonation does not. */
export function viewHeaders(): Readonly<Record<string, string>> {
  return narrowing === null || acting !== null ? {} : { 'X-View-Organization': narrowing.organizationId };
}

function readView(): NarrowView | null {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(viewKey) ?? 'null');
    if (typeof kept !== 'object' || kept === null || !('organizationId' in kept) || !('name' in kept)) return null;
    const { organizationId, name } = kept;
    return typeof organizationId === 'string' && typeof name === 'string' ? { organizationId, name } : null;
  } catch {
    return null;
  }
}
