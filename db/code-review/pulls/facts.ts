/** What is stored of a delivery: ids, shas, refs and logins; of a comment its command, until that is processed. */
export interface ReviewFacts {
  /** When the host last changed the pull request, ISO 8601. */
  readonly updated_at?: string;
  readonly is_open?: boolean;
  readonly head_sha?: string;
  readonly base_ref?: string;
  readonly head_ref?: string;
  readonly is_draft?: boolean;
  readonly is_fork?: boolean;
  /** `edited` changed its base branch. */
  readonly is_base_changed?: boolean;
  /** `review_requested` asks an App. */
  readonly is_app_requested?: boolean;
  /** The login of the sender. */
  readonly sender?: string;
  /** The sender is not a person. */
  readonly is_bot?: boolean;
  /** A comment of the conversation, or of a line. */
  readonly comment?: {
    readonly id: number;
    readonly kind: 'issue' | 'review';
    readonly in_reply_to: number | null;
    /** Null: it contains no command. */
    readonly command: { readonly name: string; readonly argument: string | null; readonly text_sha256: string } | null;
  };
  readonly thread_node_id?: string;
  /** Ids of the comments of a thread. */
  readonly comment_ids?: readonly number[];
  readonly review_id?: number;
  /** For a check of ours: the id of its run. */
  readonly check_external_id?: string;
  /** The button of a check that was pressed. */
  readonly check_action?: string;
  /** The repository's current name. */
  readonly repo_full_name?: string;
  /** Repositories that were added to an installation, or removed from it. */
  readonly repo_ids?: readonly number[];
}
