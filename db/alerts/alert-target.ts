/** Whom a rule notifies, as stored in its row. */
export type AlertTarget =
  /** Active admins and owners who see the workspace of the alert. */
  | { readonly kind: 'admins' }
  | { readonly kind: 'user'; readonly user_id: string }
  /** A POST signed with the secret. */
  | { readonly kind: 'webhook'; readonly url: string; readonly secret_name: string }
  /** An incoming webhook of Slack; the secret is its URL. */
  | { readonly kind: 'slack'; readonly secret_name: string };

/** One receiver of a delivery: `admins` is expanded to the individual users. */
export type DeliveryTarget = Exclude<AlertTarget, { kind: 'admins' }>;
