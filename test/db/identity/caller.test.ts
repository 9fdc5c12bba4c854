import { expect, test } from '@jest/globals';
import { actAs, callerOfKey, callerOfPerson, narrowTo } from '../../../domain/identity/callers/caller.ts';
import type { FoundKey, Person } from '../../../db/identity/people/people.ts';
import { newId } from '../../../db/ids.ts';

const organizationId = newId();
const [first = '', second = ''] = [newId(), newId()];

function person(fields: Partial<Person>): Person {
  return {
    id: newId(),
    role: 'member',
    scope: 'workspace',
    organizationId,
    workspaceId: first,
    isActive: true,
    isFactorRequired: false,
    hasFactor: false,
    grants: {},
    ...fields,
  };
}

function key(fields: Partial<FoundKey>): FoundKey {
  return {
    id: newId(),
    organizationId,
    workspaceId: first,
    scope: 'workspace',
    role: 'admin',
    scopes: ['*'],
    lastUsedAt: null,
    isDead: false,
    ...fields,
  };
}

const organizationOwner = person({ role: 'owner', scope: 'organization', workspaceId: null });
const operator = person({ role: 'operator', scope: 'platform', organizationId: null, workspaceId: null });

test('in a granted workspace the rank is the lower of grant and home role', () => {
  const caller = callerOfPerson(person({ role: 'member', grants: { [second]: 'admin' } }), null);

  expect(caller.workspaces).toEqual(
    new Map([
      [second, 'member'],
      [first, 'member'],
    ]),
  );
});

test('a key is never stronger than its creator is today', () => {
  expect(callerOfKey(key({ role: 'admin' }), organizationOwner)?.role).toBe('admin');
  expect(callerOfKey(key({ role: 'admin' }), person({ role: 'viewer' }))?.role).toBe('viewer');
  expect(callerOfKey(key({ role: 'admin' }), person({ workspaceId: second, role: 'admin', grants: { [first]: 'member' } }))?.role).toBe(
    'member',
  );
});

test('a key is dead without a creator who has rights where it lives', () => {
  expect(callerOfKey(key({ isDead: true }), organizationOwner)).toBeNull();
  expect(callerOfKey(key({}), null)).toBeNull();
  expect(callerOfKey(key({}), person({ isActive: false }))).toBeNull();
  expect(callerOfKey(key({}), person({ workspaceId: second }))).toBeNull();
  expect(callerOfKey(key({}), person({ scope: 'organization', workspaceId: null, organizationId: newId() }))).toBeNull();
  expect(callerOfKey(key({ scope: 'organization', workspaceId: null }), person({ role: 'admin' }))).toBeNull();
});

test('acting takes the lower role and the intersection of what both see', () => {
  const admin = callerOfPerson(person({ role: 'admin', workspaceId: first, grants: { [second]: 'viewer' } }), null);
  const acting = actAs(admin, person({ role: 'member', workspaceId: second }));

  expect(acting).toMatchObject({ role: 'member', scope: 'workspace', organizationId, workspaceId: second, ownRole: 'admin' });
  expect(acting.workspaces).toEqual(new Map([[second, 'viewer']]));
});

test('acting as a lower role lowers it in every workspace, also where the user sees them all', () => {
  const member = person({ role: 'member', scope: 'organization', workspaceId: null });
  const admin = callerOfPerson(person({ role: 'admin', workspaceId: first, grants: { [second]: 'viewer' } }), null);
  const narrowed = narrowTo(callerOfPerson(operator, null), { organizationId, workspaceId: first });

  expect(actAs(admin, member)).toMatchObject({
    role: 'member',
    workspaces: new Map([
      [second, 'viewer'],
      [first, 'member'],
    ]),
  });
  expect(actAs(narrowed, member)).toMatchObject({ role: 'member', workspaces: new Map([[first, 'member']]) });
});

test('nobody below admin acts as somebody', () => {
  const member = callerOfPerson(person({ role: 'member' }), null);

  expect(() => actAs(member, person({ role: 'viewer' }))).toThrow(expect.objectContaining({ code: 'role_insufficient' }));
});

test("an operator who acts as a user is that user's organization's, not the platform's", () => {
  const acting = actAs(callerOfPerson(operator, null), organizationOwner);

  expect(acting).toMatchObject({ role: 'owner', scope: 'organization', organizationId, workspaces: 'all', view: null });
});

test("a user who is foreign, inactive, out of sight or outside the view can't be acted as, and isn't confirmed", () => {
  const admin = callerOfPerson(person({ role: 'admin' }), null);
  const foreign = person({ organizationId: newId() });
  const narrowed = narrowTo(callerOfPerson(operator, null), { organizationId, workspaceId: first });

  for (const [caller, target] of [
    [admin, null],
    [admin, foreign],
    [admin, person({ isActive: false })],
    [admin, person({ workspaceId: second })],
    [admin, operator],
    [narrowed, foreign],
    [narrowed, person({ workspaceId: second })],
  ] as const) {
    expect(() => actAs(caller, target)).toThrow(expect.objectContaining({ code: 'not_found' }));
  }
});

test('nobody acts as somebody of higher rank', () => {
  const admin = callerOfPerson(person({ role: 'admin' }), null);

  expect(() => actAs(admin, organizationOwner)).toThrow(expect.objectContaining({ code: 'role_insufficient' }));
});

test("a caller can't be made without its tenant, and can't be changed", () => {
  expect(() => callerOfPerson(person({ organizationId: null }), null)).toThrow('organization');
  expect(() => callerOfPerson(person({ organizationId: '' }), null)).toThrow('empty id');
  expect(() => callerOfPerson(person({ workspaceId: null }), null)).toThrow('workspace');
  expect(Object.isFrozen(callerOfPerson(person({}), null))).toBe(true);
});
