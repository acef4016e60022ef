export * from './embedded-failure';
export * from './free-port';
export * from './layout';
export * from './nats';
export { type NatsBinary, natsBinaries, natsBinary, toolsBin } from './nats-binary';
export type { NatsUser } from './nats-config';
export * from './postgres';
export { postgresBinaries } from './postgres-binaries';
export { denyPostgresAsRoot } from './postgres-user';
