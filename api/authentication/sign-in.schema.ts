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

const NewPassword = text(256, { minLength: 8, description: 'At least 15 characters, 8 with a second factor, and not easily guessed' });
const MailToken = text(100, { minLength: 1, description: 'From the link in the mail' });

export const PasswordChangeBody = closed(
  { current_password: text(256, { minLength: 1 }), new_password: NewPassword },
  { $id: 'PasswordChangeBody' },
);

export const PasswordForgotBody = closed({ email: text(254, { minLength: 1 }) }, { $id: 'PasswordForgotBody' });

export const PasswordResetBody = closed({ token: MailToken, new_password: NewPassword }, { $id: 'PasswordResetBody' });

export const EmailConfirmBody = closed({ token: MailToken }, { $id: 'EmailConfirmBody' });
