import { actorSpecs, makeActor, makeUser, type Actor, type ActorSpec, type Ground } from './actors.ts';
import {
  idlePlatform,
  newSide,
  organizationPlace,
  placesOf,
  platform,
  workspacePlace,
  type Place,
  type Side,
  type WorkspacePlace,
} from './places.ts';
import { fits, openRows, tenantTables, type Rows, type WorldBase } from './rows.ts';

/** Organizations A and B with the same rows in the same places, the platform's rows, and the thirteen who ask. */
export interface AccessWorld {
  readonly a: Side;
  readonly b: Side;
  readonly base: WorldBase;
  readonly rows: Rows;
  readonly ground: Ground;
  readonly actors: readonly Actor[];
  actor(name: string): Actor;
  /** One more of a kind, with a session of its own. */
  enter(spec: ActorSpec, ground?: Ground): Promise<Actor>;
  /** A workspace, or a whole organization, that may be used up. */
  freshGround(what: 'workspace' | 'organization'): Promise<Ground>;
  close(): Promise<void>;
}

// Made with the first row of its parent, or in a way of its own.
const made = new Set([
  'organizations',
  'organization_settings',
  'workspaces',
  'users',
  'user_credentials',
  'workspace_grants',
  'agent_revisions',
  'review_playbook_revisions',
  'tool_versions',
  'run_streams',
  'run_frame_chunks',
]);

export async function makeAccessWorld(base: WorldBase): Promise<AccessWorld> {
  const rows = await openRows(base);
  const [a, b] = [newSide('a'), newSide('b')];
  await makePerson(rows, platform);
  for (const side of [a, b]) await makeSide(rows, side);
  for (const place of [platform, idlePlatform, ...placesOf(a), ...placesOf(b)]) await fillPlace(base, rows, place);
  for (const side of [a, b]) await archive(rows, side.workspaces[2]);

  const ground: Ground = {
    guests: await makeGuests(rows, a.organization),
    organization: a.organization,
    home: a.workspaces[0],
    second: a.workspaces[1],
    foreign: b.organization,
    foreignHome: b.workspaces[0],
  };
  const enter = (spec: ActorSpec, where: Ground = ground) => makeActor(base, rows, { spec, ground: where });
  const actors = await Promise.all(actorSpecs.map((spec) => enter(spec)));

  return {
    a,
    b,
    base,
    rows,
    ground,
    actors,
    enter,
    actor(name) {
      const found = actors.find((actor) => actor.name === name);
      if (!found) throw new Error(`no actor ${name}`);
      return found;
    },
    freshGround: (what) => freshGround(rows, ground, what),
    close: () => rows.close(),
  };
}

/** Rows of a kind with what they can't do without: an agent with its active revision, a tool with its version, a run with its stream. */
export async function makeWhole(
  rows: Rows,
  { table, place, given = {} }: { table: string; place: Place; given?: Readonly<Record<string, unknown>> },
): Promise<string> {
  // An item has no relation to itself.
  const other = table === 'knowledge_relations' ? { to_item_id: (await rows.make('knowledge_items', place))['id'] } : {};
  const row = await rows.make(table, place, { ...other, ...given });
  const id = String(row['id']);
  if (table === 'agents') {
    const revision = await rows.make('agent_revisions', place, { agent_id: id });
    await rows.query('update agents set active_revision_id = $1 where id = $2', [revision['id'], id]);
  }
  if (table === 'review_playbooks') {
    const revision = await rows.make('review_playbook_revisions', place, { playbook_id: id });
    await rows.query('update review_playbooks set active_revision_id = $1 where id = $2', [revision['id'], id]);
  }
  if (table === 'tools') await rows.make('tool_versions', place, { tool_id: id });
  if (table === 'attachments') {
    // An organization has no runs of its own: what lies there are files of its skills.
    const [kind, holders] = place.workspaceId === null ? (['skill', 'skills'] as const) : (['run', 'runs'] as const);
    await rows.make('attachment_links', place, { attachment_id: id, owner_kind: kind, owner_id: rows.first(holders, place)?.['id'] });
  }
  if (table === 'runs') {
    await rows.make('run_streams', place, { run_id: id, root_run_id: id });
    await rows.make('run_frame_chunks', place, { run_id: id });
  }
  return id;
}

async function makeSide(rows: Rows, side: Side): Promise<void> {
  await makeOrganization(rows, side.organization);
  for (const workspace of side.workspaces) await makeWorkspace(rows, workspace);
  const [, second, third] = side.workspaces;
  await rows.make('workspace_grants', third, { user_id: rows.first('users', second)?.['id'] });
}

async function makeOrganization(rows: Rows, place: Place): Promise<void> {
  await rows.make('organizations', place, { id: place.organizationId });
  await rows.make('organization_settings', place);
  await makePerson(rows, place);
}

async function makeWorkspace(rows: Rows, place: WorkspacePlace): Promise<void> {
  await rows.make('workspaces', place, { id: place.workspaceId });
  await makePerson(rows, place);
}

async function makePerson(rows: Rows, place: Place): Promise<void> {
  await makeUser(rows, { place, role: place.scope === 'platform' ? 'operator' : 'viewer' });
}

/** One row of each table that can have one in the place, parents first. */
async function fillPlace(base: WorldBase, rows: Rows, place: Place): Promise<void> {
  for (const meta of tenantTables(base)) {
    if (made.has(meta.tableName) || !fits(meta, place)) continue;
    await makeWhole(rows, { table: meta.tableName, place });
  }
  // Beside the secret of the place itself, one of its tool under the same name.
  await rows.make('secrets', place, { tool_id: rows.first('tools', place)?.['id'], name: 'twin' });
  if (place.workspaceId !== null) await makeRunStates(rows, place);
}

/** Beside the run that has ended: one in line, one that works, one that waits. */
async function makeRunStates(rows: Rows, place: Place): Promise<void> {
  const open = { finish_reason: null, finished_at: null, output: null };
  const waiting = { waiting_on: 'input', waiting_until: new Date(Date.now() + 86_400_000) };
  const states = [{ status: 'queued' }, { status: 'running', started_at: new Date() }, { status: 'waiting', ...waiting }];
  for (const state of states) await makeWhole(rows, { table: 'runs', place, given: { ...open, ...state } });
}

async function archive(rows: Rows, place: WorkspacePlace): Promise<void> {
  const sql = `update workspaces set is_active = false, archived_at = now(), purge_after = now() + interval '90 days' where id = $1`;
  await rows.query(sql, [place.workspaceId]);
}

async function freshGround(rows: Rows, standing: Ground, what: 'workspace' | 'organization'): Promise<Ground> {
  if (what === 'workspace') {
    const home = workspacePlace(standing.organization, 'a1');
    await makeWorkspaceWithSlug(rows, home);
    return { ...standing, home };
  }
  const organization = organizationPlace('a');
  await makeOrganization(rows, organization);
  const [home, second] = [workspacePlace(organization, 'a1'), workspacePlace(organization, 'a2')];
  for (const workspace of [home, second]) await makeWorkspaceWithSlug(rows, workspace);
  return { ...standing, organization, home, second, guests: await makeGuests(rows, organization) };
}

/** A workspace whose people are met wherever they have a grant, so that its words are the organization's. */
async function makeGuests(rows: Rows, organization: Ground['organization']): Promise<WorkspacePlace> {
  const guests = workspacePlace(organization, 'a');
  await makeWorkspaceWithSlug(rows, guests);
  return guests;
}

async function makeWorkspaceWithSlug(rows: Rows, place: WorkspacePlace): Promise<void> {
  await rows.make('workspaces', place, { id: place.workspaceId, slug: `w-${place.workspaceId}` });
  await makePerson(rows, place);
}
