import { isDeepStrictEqual } from 'node:util';
import type { RegisteredOperation } from '../../../api/http/operation/operation.ts';
import { isRoleAccess } from '../../../api/http/credentials/scopes.ts';
import { rankOf } from '../../../workflows/contracts/access.ts';
import { aim, idsIn, standingParams, targetsOf } from '../aim.ts';
import { isForSessions } from '../expected.ts';
import { idPlacesOf, pathWith, queryIdsOf, sampleBody, withValue } from '../requests.ts';
import { comparable, told, type Ask, type Fault, type Sent, type Stage } from '../stage.ts';
import type { Actor } from '../world/actors.ts';
import { platform, type Place } from '../world/places.ts';

/** Everybody of A, the narrowed operator too, whose rank admits. */
export function insidersOf(stage: Stage, operation: RegisteredOperation): Actor[] {
  if (!isRoleAccess(operation)) return [];
  const floor = rankOf(operation.access);
  const insiders = stage.world.actors.filter(
    ({ name, sight }) => ['home', 'organization', 'second'].includes(sight) && (stage.insiders?.includes(name) ?? true),
  );
  return insiders.filter(({ role, kind }) => role !== null && rankOf(role) >= floor && !(kind === 'key' && isForSessions(operation)));
}

/** Places whose rows an actor must take for absent: all of B, and other workspaces where it has one. */
function strangePlaces(stage: Stage, actor: Actor): Place[] {
  const { a, b } = stage.world;
  const [first, second] = a.workspaces;
  const foreign = [b.workspaces[0], b.organization];
  if (actor.sight === 'organization') return foreign;
  return [...foreign, actor.sight === 'home' ? second : first];
}

/** G3: an id of somebody else in one position of a path, own ones in the others, is answered as an id of nobody. */
export async function pathFaults(stage: Stage, operations = stage.operations): Promise<Fault[]> {
  const faults: Fault[] = [];
  for (const operation of operations.filter((candidate) => targetsOf(candidate).length > 0)) {
    for (const actor of insidersOf(stage, operation)) faults.push(...(await strangePathFaults(stage, operation, actor)));
  }
  return faults;
}

async function strangePathFaults(stage: Stage, operation: RegisteredOperation, actor: Actor): Promise<Fault[]> {
  const home = actor.home.workspaceId ? actor.home : stage.world.ground.home;
  const own = standingParams(stage, operation, home);
  const body = sampleBody(operation, idsIn(stage, home));
  const send = (params: Record<string, string>) =>
    stage.send(operation, actor, { url: pathWith(operation, { resource_path: 'mcp', ...params }), body });
  const faults: Fault[] = [];

  for (const { parameter, table, column } of targetsOf(operation)) {
    const unknown = await send({ ...own, [parameter]: column === 'id' ? crypto.randomUUID() : `x${crypto.randomUUID()}` });
    // Clients of the platform are its operators' alone: narrowed to A they find none of them.
    const ofPlatform = table === 'oauth_clients' ? [platform] : [];
    for (const place of [...strangePlaces(stage, actor), ...ofPlatform]) {
      // A name says nothing about whose row is meant; the organization of a sibling workspace is the own one.
      const isShared = column === 'name' || (table === 'organizations' && place.organizationId === actor.home.organizationId);
      if (isShared) continue;
      const foreign = await send({ ...own, [parameter]: standingParams(stage, operation, place)[parameter] ?? '' });
      if (foreign.status >= 400 && isDeepStrictEqual(comparable(foreign), comparable(unknown))) continue;
      faults.push({
        operation: operation.operationId,
        fault: `${parameter} of ${place.name}, ${told(foreign)}, but of nobody ${told(unknown)}`,
      });
    }
  }
  return [
    ...faults,
    ...(await strangeChildFaults(stage, operation, { actor, own, send })),
    ...(await strangeWholeFaults(stage, operation, { actor, own, send })),
  ];
}

/** A child of somebody else under its own parent. */
async function strangeWholeFaults(stage: Stage, operation: RegisteredOperation, { actor, own, send }: Nested): Promise<Fault[]> {
  const targets = targetsOf(operation);
  if (targets.length < 2) return [];
  const [place] = strangePlaces(stage, actor);
  if (!place) return [];
  const nobody = Object.fromEntries(targets.map(({ parameter }) => [parameter, crypto.randomUUID()]));
  const [foreign, unknown] = [await send({ ...own, ...standingParams(stage, operation, place) }), await send({ ...own, ...nobody })];
  if (foreign.status >= 400 && isDeepStrictEqual(comparable(foreign), comparable(unknown))) return [];
  return [{ operation: operation.operationId, fault: `all of ${place.name}, ${told(foreign)}, but of nobody ${told(unknown)}` }];
}

interface Nested {
  readonly actor: Actor;
  readonly own: Record<string, string>;
  readonly send: (params: Record<string, string>) => Promise<Sent>;
}

/** A child under another parent than its own, though both are the actor's. */
async function strangeChildFaults(stage: Stage, operation: RegisteredOperation, { actor, own, send }: Nested): Promise<Fault[]> {
  const [parent, child] = targetsOf(operation);
  if (!parent || !child || ['organizations', 'workspaces'].includes(parent.table)) return [];
  const home = actor.home.workspaceId ? actor.home : stage.world.ground.home;
  const stranger = await stage.world.rows.make(parent.table, home);
  const unknown = await send({ ...own, [parent.parameter]: String(stranger['id']), [child.parameter]: crypto.randomUUID() });
  const astray = await send({ ...own, [parent.parameter]: String(stranger['id']) });
  if (astray.status >= 400 && isDeepStrictEqual(comparable(astray), comparable(unknown))) return [];
  return [{ operation: operation.operationId, fault: `child of another parent, ${told(astray)}, but of nobody ${told(unknown)}` }];
}

/** G4: an id of somebody else in a body is answered as one of nobody, and neither is taken. */
export async function bodyFaults(stage: Stage, operations = stage.operations): Promise<Fault[]> {
  const faults: Fault[] = [];
  for (const operation of operations.filter((candidate) => [...idPlacesOf(candidate.body)].length > 0)) {
    for (const actor of insidersOf(stage, operation)) faults.push(...(await strangeBodyFaults(stage, operation, actor)));
  }
  return faults;
}

async function strangeBodyFaults(stage: Stage, operation: RegisteredOperation, actor: Actor): Promise<Fault[]> {
  const faults: Fault[] = [];
  for (const { path, kind } of idPlacesOf(operation.body)) {
    const right = await aim(stage, operation, { actor, ground: stage.world.ground, isFresh: true });
    const send = (id: string) => stage.send(operation, actor, { ...right, body: withValue(right.body, path, id) });
    const unknown = await send(crypto.randomUUID());
    const empty = await send('');
    const at = `/${path.join('/')}`;
    if (!isRefused(unknown)) faults.push({ operation: operation.operationId, fault: `${at} of nobody is taken, ${told(unknown)}` });
    if (empty.status < 400) faults.push({ operation: operation.operationId, fault: `an empty ${at} is taken, ${told(empty)}` });
    for (const place of strangePlaces(stage, actor)) {
      const id = idsIn(stage, place)(kind);
      if (id === null || (kind === 'Organization' && place.organizationId === actor.home.organizationId)) continue;
      const foreign = await send(id);
      if (isDeepStrictEqual(comparable(foreign), comparable(unknown))) continue;
      faults.push({ operation: operation.operationId, fault: `${at} of ${place.name}, ${told(foreign)}, but of nobody ${told(unknown)}` });
    }
  }
  return faults;
}

/** A dry run and a batch tell in their answer what does not resolve, and a filter may match nothing. */
function isRefused({ status, body }: Sent): boolean {
  return status >= 400 || body?.['valid'] === false || body?.['created'] === 0 || body?.['matched'] === 0;
}

/** G4 for query parameters: an id of somebody else finds what an id of nobody finds, and an empty one is no id. */
export async function queryFaults(stage: Stage, operations = stage.operations): Promise<Fault[]> {
  const faults: Fault[] = [];
  for (const operation of operations.filter((candidate) => queryIdsOf(candidate).length > 0)) {
    for (const actor of insidersOf(stage, operation)) faults.push(...(await strangeQueryFaults(stage, operation, actor)));
  }
  return faults;
}

async function strangeQueryFaults(stage: Stage, operation: RegisteredOperation, actor: Actor): Promise<Fault[]> {
  const faults: Fault[] = [];
  for (const { name, kind } of queryIdsOf(operation)) {
    const right: Ask = await aim(stage, operation, { actor, ground: stage.world.ground, isFresh: operation.method !== 'GET' });
    const send = (id: string) => stage.send(operation, actor, { ...right, url: withQuery(right.url, name, id) });
    const unknown = await send(crypto.randomUUID());
    const empty = await send('');
    const found = unknown.body?.['items'];
    const isEmpty = operation.kind !== 'list' || unknown.status !== 200 || (Array.isArray(found) && found.length === 0);
    if (!isEmpty) faults.push({ operation: operation.operationId, fault: `${name} of nobody finds something` });
    if (empty.status !== 422) faults.push({ operation: operation.operationId, fault: `an empty ${name} is taken, ${told(empty)}` });
    for (const place of strangePlaces(stage, actor)) {
      const id = idsIn(stage, place)(kind);
      if (id === null || (kind === 'Organization' && place.organizationId === actor.home.organizationId)) continue;
      const foreign = await send(id);
      if (isDeepStrictEqual(comparable(foreign), comparable(unknown))) continue;
      faults.push({
        operation: operation.operationId,
        fault: `${name} of ${place.name}, ${told(foreign)}, but of nobody ${told(unknown)}`,
      });
    }
  }
  return faults;
}

export function withQuery(url: string, name: string, value: string): string {
  const [path = '', search] = url.split('?');
  const query = new URLSearchParams(search);
  query.set(name, value);
  return `${path}?${query}`;
}
