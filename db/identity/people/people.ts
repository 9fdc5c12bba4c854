import type { Role, Scope } from '../../../workflows/contracts/access.ts';
import type { Caller } from '../../caller.ts';

/** A user as the definer functions return it: what determines rank, visibility and state. */
export interface Person {
  readonly id: string;
  readonly role: Role;
  readonly scope: Scope;
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
  /** False when deactivated or deleted, or when the organization is purged. */
  readonly isActive: boolean;
  readonly isFactorRequired: boolean;
  readonly hasFactor: boolean;
  /** Role by workspace id. */
  readonly grants: Readonly<Record<string, Role>>;
}

/** A session as the definer functions return it; both states by the database's clock. */
export interface FoundSession {
  readonly id: string;
  readonly userId: string;
  readonly kind: 'login' | 'oauth';
  /** For an OAuth grant: which client holds it, its OAuth scopes, and where its tokens are valid. */
  readonly clientId: string | null;
  readonly oauthScope: string | null;
  readonly resource: string | null;
  /** Until when it counts as freshly verified; null when it doesn't. */
  readonly freshUntil: string | null;
  /** What it lacks while the organization requires a second factor. */
  readonly restriction: Caller['restriction'];
  readonly lastSeenAt: string;
  readonly isRevoked: boolean;
  readonly isOver: boolean;
}

/** A service key as the definer functions return it. */
export interface FoundKey {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string | null;
  readonly scope: 'workspace' | 'organization';
  readonly role: Role;
  readonly scopes: readonly string[];
  readonly lastUsedAt: string | null;
  /** Revoked or expired. */
  readonly isDead: boolean;
}

/** An impersonation as the definer functions return it; both states by the database's clock. */
export interface FoundImpersonation {
  readonly id: string;
  readonly isEnded: boolean;
  readonly isOver: boolean;
  readonly operator: Person | null;
  readonly person: Person | null;
}

/** Returns an address as it is stored and looked up: trimmed, NFC, lower case, nothing else folded. */
export function normalizeEmail(email: string): string {
  return email.trim().normalize('NFC').toLowerCase();
}
