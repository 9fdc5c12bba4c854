export const approvalReasons = ['tool_call', 'input_required', 'confirmation', 'budget', 'auth'] as const;
export type ApprovalReason = (typeof approvalReasons)[number];

export const approvalStatuses = ['pending', 'approved', 'rejected', 'edited', 'responded', 'expired', 'cancelled'] as const;
export type ApprovalStatus = (typeof approvalStatuses)[number];

/** The possible decisions; each question offers some of them. */
export const approvalDecisions = ['approve', 'reject', 'edit', 'respond'] as const;
export type ApprovalDecision = (typeof approvalDecisions)[number];

/**
 * Why a call has to be approved before it is executed: `input` asks a person for the result itself, `confirmation` whether a lost critical call may be
 * repeated, `auth` for the consent that a server demands.
 */
export const callGates = ['critical', 'binding', 'first', 'effect', 'input', 'confirmation', 'auth'] as const;
export type CallApproval = (typeof callGates)[number];
