/** Injection token: metadata-free injection needs a name for everything. */
export const PORTS = Symbol('ports');
