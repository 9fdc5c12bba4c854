import Type from 'typebox';
import { roles, scopes } from '../../workflows/contracts/access.ts';
import { closed, Email, idOf, nullable, oneOf, Q, text } from '../http/input/schema.ts';

export const UserParams = closed({ user_id: idOf('User') });

export const UserQuery = closed({
  q: Type.Optional(Q),
  role: Type.Optional(oneOf(roles)),
  scope: Type.Optional(oneOf(scopes)),
  workspace_id: Type.Optional(idOf('Workspace', 'Home of the users')),
  is_active: Type.Optional(Type.Boolean()),
});

const FullName = text(200, { minLength: 1 });

export const UserCreate = closed(
  {
    email: Email,
    full_name: Type.Optional(nullable(FullName)),
    role: oneOf(roles, { description: "At most the caller's own" }),
    scope: Type.Optional(oneOf(scopes, { description: "Defaults to the caller's own" })),
    workspace_id: Type.Optional(nullable(idOf('Workspace', 'Home of a user of scope workspace'))),
    password: Type.Optional(text(256, { minLength: 1, description: 'Without one, the user gets a mail to choose a password' })),
  },
  { $id: 'UserCreate' },
);

export const UserUpdate = closed({ full_name: Type.Optional(nullable(FullName)) }, { $id: 'UserUpdate' });

export const UserRolePut = closed(
  {
    role: oneOf(roles, { description: "At most the caller's own" }),
    scope: Type.Optional(oneOf(scopes, { description: 'If omitted, scope and home stay unchanged' })),
    workspace_id: Type.Optional(nullable(idOf('Workspace', 'The new home; if omitted, the home stays unchanged'))),
  },
  { $id: 'UserRolePut' },
);
