/** What is delivered: each source has a table of deliveries and of tries of its own. */
export const deliverySources = ['alert', 'callback'] as const;
export type DeliverySourceName = (typeof deliverySources)[number];

/** What the workflow `delivery:<id>` is told: its row. Address, secret and text stay there. */
export interface DeliverInput {
  readonly source: DeliverySourceName;
  readonly deliveryId: string;
}

/** What a try came to: over, or another one after a while. */
export type DeliverStep = { readonly isOver: true } | { readonly isOver: false; readonly waitMs: number };

/** Activities of `deliver`, by the names under which histories record them. */
export interface NoticeActivities {
  /** Makes one try of a delivery that is due, and stores what came of it. One that is over, gone or not due yet is left as it is. */
  attemptDelivery(input: DeliverInput): Promise<DeliverStep>;
}
