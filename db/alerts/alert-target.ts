/** Whom a rule notifies, as its row has it. */
export type AlertTarget =
  /** Active admins and owners who see the workspace of the alert. */
  | { readonly kind: 'admins' }
  | { readonly kind: 'user'; readonly user_id: string }
  /** A POST that is signed with the secret. */
  | { readonly kind: 'webhook'; readonly url: string; readonly secret_name: string }
  /** An incoming webhook of Slack; the secret is its URL. */
  | { readonly kind: 'slack'; readonly secret_name: string };

/** One receiver of a delivery: `admins` stands for as many users as there are. */
export type DeliveryTarget = Exclude<AlertTarget, { kind: 'admins' }>;
