import Type from 'typebox';
import { closed, idOf, Name, Q, Slug } from '../http/input/schema.ts';
import { Timezone } from '../http/views/zones.ts';

export const OrganizationParams = closed({ organization_id: idOf('Organization') });

/** Filters of the lists that look in name and slug. */
export const NameQuery = closed({ q: Type.Optional(Q) });

export const OrganizationUpdate = closed(
  { name: Type.Optional(Name), slug: Type.Optional(Slug), timezone: Type.Optional(Timezone) },
  { $id: 'OrganizationUpdate' },
);

export const OwnershipTransfer = closed(
  {
    user_id: idOf('User', 'Who becomes an owner of the whole organization'),
    from_user_id: Type.Optional(idOf('User', 'The owner who becomes an admin; required from operators, not allowed from others')),
  },
  { $id: 'OwnershipTransfer' },
);
