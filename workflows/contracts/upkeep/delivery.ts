/** Input of a delivery: the id of its outbox row only. No address, name or token enters a history. */
export interface DeliveryInput {
  readonly outboxId: string;
}

/**
 * How a mail ended: `refused` finally by the mail server; `expired`: its token expired first; `void`: it has no purpose any more (an unknown address, a deleted
 * user or invitation, a newer token); `no_mailer`: the deployment has none.
 */
export const deliveryResults = ['sent', 'refused', 'expired', 'void', 'no_mailer'] as const;
export type DeliveryResult = (typeof deliveryResults)[number];

/** Activities of `delivery`, by the names under which histories record them. They find their tenant through the row. */
export interface DeliveryActivities {
  /** Sends the mail of the row, unless it was settled before. Throws while the mail server can't be reached or asks to retry later. */
  sendMail(input: DeliveryInput): Promise<DeliveryResult>;
}

export const deliveryActivityNames = ['sendMail'] as const satisfies readonly (keyof DeliveryActivities)[];

/** What is delivered: each source has its own table of deliveries and of tries. */
export const deliverySources = ['alert', 'callback'] as const;
export type DeliverySourceName = (typeof deliverySources)[number];

/** Input of the workflow `delivery:<id>`: its row. Address, secret and text stay there. */
export interface DeliverInput {
  readonly source: DeliverySourceName;
  readonly deliveryId: string;
}

/** Outcome of a try: the delivery is over, or another try follows after a while. */
export type DeliverStep = { readonly isOver: true } | { readonly isOver: false; readonly waitMs: number };

/** Activities of `deliver`, by the names under which histories record them. */
export interface NoticeActivities {
  /** Makes one try of a due delivery and stores its outcome. A delivery that is over, deleted or not due yet is left as it is. */
  attemptDelivery(input: DeliverInput): Promise<DeliverStep>;
}
