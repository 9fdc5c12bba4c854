/** A hold that is not renewed for so many seconds expires: three heartbeat timeouts. */
export const leaseS = 30;
