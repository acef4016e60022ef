export const PORTS = Symbol('Ports');
export const REQUESTS = Symbol('RequestsInFlight');
