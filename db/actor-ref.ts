/** Who made a row, as views name it. */
export interface ActorRef {
  readonly kind: 'user' | 'service_key' | 'agent' | 'system';
  readonly id: string | null;
}
