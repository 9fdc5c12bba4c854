/** A mail that the worker writes and sends; names rows by id, and an address only where no row has it. */
export type MailRequest =
  /** A new password was requested for this address; the worker looks up whether it belongs to a user. */
  | { readonly template: 'password_reset'; readonly email: string }
  /** A new user without a password is to choose one. */
  | { readonly template: 'password_set'; readonly userId: string }
  /** Proves that the user reads the new address; the challenge row exists already. */
  | { readonly template: 'email_confirm'; readonly userId: string; readonly to: string }
  /** Informs the old address that a change was requested. */
  | { readonly template: 'email_change_notice'; readonly userId: string; readonly to: string }
  | { readonly template: 'invitation'; readonly invitationId: string }
  /** Notices to the user's address. */
  | {
      readonly template:
        | 'refresh_reuse'
        | 'password_changed'
        | 'factor_added'
        | 'factor_removed'
        | 'recovery_codes_replaced'
        | 'recovery_codes_used_up';
      readonly userId: string;
    };
