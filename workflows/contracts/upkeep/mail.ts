/** A mail to be written and sent by the worker; names rows by id, and an address only where no row has it. */
export type MailRequest =
  /** Somebody asked for a new password at this address; whether it is anybody's is looked up by the worker. */
  | { readonly template: 'password_reset'; readonly email: string }
  /** A new user without a password is to choose one. */
  | { readonly template: 'password_set'; readonly userId: string }
  /** Proves that the new address is read by the user; the challenge row is there. */
  | { readonly template: 'email_confirm'; readonly userId: string; readonly to: string }
  /** Tells the old address that a change was asked for. */
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
