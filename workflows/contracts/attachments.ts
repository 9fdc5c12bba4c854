/** What a scan is told: the row, by its id. No name, key or byte enters a history. */
export interface AttachmentScanInput {
  readonly attachmentId: string;
}

/** Activity of `attachmentScan`, by the name under which histories record it. */
export interface AttachmentActivities {
  /** Has the bytes looked at and writes the verdict; an attachment that has one, or is gone, is left alone. Throws while nobody looks. */
  scanAttachment(input: AttachmentScanInput): Promise<'ready' | 'rejected' | 'gone'>;
}
