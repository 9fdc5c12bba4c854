/** What a delivery is told: its outbox row, by id alone. No address, name or token enters a history. */
export interface DeliveryInput {
  readonly outboxId: string;
}

/**
 * How a mail ended: `refused` by the mail server for good; `expired`: its token's end came first; `void`: nobody wants it any more (an
 * unknown address, a user or an invitation that is gone, a newer token); `no_mailer`: the deployment has none.
 */
export const deliveryResults = ['sent', 'refused', 'expired', 'void', 'no_mailer'] as const;
export type DeliveryResult = (typeof deliveryResults)[number];

/** Activities of `delivery`, by the names under which histories record them. They find their tenant by the row. */
export interface DeliveryActivities {
  /** Mails what the row asks for, unless it was settled before. Throws while the mail server can't be reached or asks to come back. */
  sendMail(input: DeliveryInput): Promise<DeliveryResult>;
}

export const deliveryActivityNames = ['sendMail'] as const satisfies readonly (keyof DeliveryActivities)[];
