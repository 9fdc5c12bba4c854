/** A hold that is not renewed for this many seconds expires: three heartbeat timeouts. */
export const leaseS = 30;
