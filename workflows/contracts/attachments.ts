/** Input of a scan: the row's id only. No name, key or byte enters a history. */
export interface AttachmentScanInput {
  readonly attachmentId: string;
}

/** Activity of `attachmentScan`, by the name under which histories record it. */
export interface AttachmentActivities {
  /** Scans the bytes and writes the verdict; an attachment that already has one, or no longer exists, is left alone. Throws while no scanner is available. */
  scanAttachment(input: AttachmentScanInput): Promise<'ready' | 'rejected' | 'gone'>;
}
