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
