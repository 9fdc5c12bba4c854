import Type, { type Static } from 'typebox';
import type { NewRecoveryCodes } from '../../domain/identity/factors/recovery-codes.ts';
import { closed, idOf, listOf, nullable, oneOf, text, Timestamp } from '../http/input/schema.ts';

const methods = ['totp', 'recovery_code', 'password'] as const;

export const MfaVerifyBody = closed(
  {
    challenge_id: Type.Optional(nullable(idOf('Other', 'The challenge of the sign-in; omitted with a bearer token'))),
    method: Type.Optional(oneOf(methods, { default: 'totp', description: 'password: only in a step-up by a user without a factor' })),
    code: text(256, { minLength: 1 }),
  },
  { $id: 'MfaVerifyBody' },
);

export const TotpEnrolmentView = closed(
  {
    secret: text(32, { description: 'In base32, 160 bits' }),
    otpauth_uri: text(1_024, { description: 'For a QR code' }),
    expires_at: Timestamp,
  },
  { $id: 'TotpEnrolmentView', description: 'A second factor that is still to be confirmed' },
);

export const TotpConfirmBody = closed({ code: text(6, { minLength: 6, pattern: '^[0-9]{6}$' }) }, { $id: 'TotpConfirmBody' });

export const RecoveryCodesView = closed(
  {
    codes: listOf(text(19, { description: 'Replaces the second factor once' }), { minItems: 10, maxItems: 10 }),
    created_at: Timestamp,
  },
  { $id: 'RecoveryCodesView', description: 'Recovery codes, shown only once' },
);

export function toTotpEnrolmentView(enrolment: {
  secret: string;
  otpauthUri: string;
  expiresAt: string;
}): Static<typeof TotpEnrolmentView> {
  return { secret: enrolment.secret, otpauth_uri: enrolment.otpauthUri, expires_at: enrolment.expiresAt };
}

export function toRecoveryCodesView({ codes, createdAt }: NewRecoveryCodes): Static<typeof RecoveryCodesView> {
  return { codes: [...codes], created_at: createdAt };
}
