import { queryClient } from './queries.ts';
import { session } from './session.ts';
import { impersonation, view, type Acting, type NarrowView } from './standing.ts';

// Whoever signs in next is nobody's stand-in.
session.onLeave(() => {
  impersonation.end();
  view.set(null);
});

/** From now on the tab acts as somebody else; what it knew was the operator's. */
export function actAs(next: Acting): void {
  impersonation.begin(next);
  queryClient.clear();
}

export function actAsOneself(): void {
  impersonation.end();
  queryClient.clear();
}

/** From now on the tab sees one organization alone; null: all of them. */
export function narrowTo(next: NarrowView | null): void {
  view.set(next);
  queryClient.clear();
}
