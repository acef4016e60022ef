/** Injection tokens: metadata-free injection needs a name for everything. */
export const PORTS = Symbol('ports');
export const LOG = Symbol('log');
