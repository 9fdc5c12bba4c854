import { newId } from '../../../db/ids.ts';
import type { Scope } from '../../../workflows/contracts/access.ts';

/** Where rows live: an organization, one of its workspaces, or the platform. */
export interface Place {
  /** Short name that every canary of the place carries: `a`, `a1`, `b3`, `platform`, `idle`. */
  readonly name: string;
  readonly scope: Scope;
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
  /** False for the platform's rows that are switched off. */
  readonly isActive: boolean;
}

/** The platform's rows: those that everybody sees, and those that are switched off. */
export const platform: Place = { name: 'platform', scope: 'platform', organizationId: null, workspaceId: null, isActive: true };
export const idlePlatform: Place = { ...platform, name: 'idle', isActive: false };

/** An organization with three workspaces, the third one archived. */
export interface Side {
  readonly name: 'a' | 'b';
  readonly organization: Place & { readonly organizationId: string };
  readonly workspaces: readonly [WorkspacePlace, WorkspacePlace, WorkspacePlace];
}

export type WorkspacePlace = Place & { readonly organizationId: string; readonly workspaceId: string };

export function newSide(name: 'a' | 'b'): Side {
  const organization = organizationPlace(name);
  const workspace = (number: number) => workspacePlace(organization, `${name}${number}`);
  return { name, organization, workspaces: [workspace(1), workspace(2), workspace(3)] };
}

export function organizationPlace(name: string): Place & { readonly organizationId: string } {
  return { name, scope: 'organization', organizationId: newId(), workspaceId: null, isActive: true };
}

export function workspacePlace(organization: { readonly organizationId: string }, name: string): WorkspacePlace {
  return { name, scope: 'workspace', organizationId: organization.organizationId, workspaceId: newId(), isActive: true };
}

export function placesOf({ organization, workspaces }: Side): readonly Place[] {
  return [organization, ...workspaces];
}

/** Marks a text as made for a place: whoever reads it elsewhere has found a leak. */
export function canary(place: Place, table: string, column: string): string {
  return `canary.${place.name}.${table}.${column}`;
}

/** Names of the places whose canaries a text holds, with table and column. */
export function canariesIn(text: string): { place: string; mark: string }[] {
  return [...text.matchAll(/canary\.([a-z0-9]+)\.[a-z_]+\.[a-z_]+/gi)].map(([mark, place = '']) => ({ place: place.toLowerCase(), mark }));
}

/** Every uuid of a text. */
export function uuidsIn(text: string): string[] {
  return text.toLowerCase().match(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g) ?? [];
}
