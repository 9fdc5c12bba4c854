import Type from 'typebox';
import { closed, nullable, text } from '../http/input/schema.ts';

export const LoginBody = closed(
  {
    email: text(254, { minLength: 1, description: 'Compared without regard to case and surrounding whitespace' }),
    password: text(256, { minLength: 1 }),
    device_label: Type.Optional(nullable(text(80, { description: 'Shown in the list of devices' }))),
  },
  { $id: 'LoginBody' },
);

export const RefreshBody = closed({ refresh_token: text(100, { minLength: 1 }) }, { $id: 'RefreshBody' });
