export * from './created-run';
export * from './model';
export * from './nats';
export { startTestPostgres, type TestDatabase, type TestPostgres, type TestPostgresOptions } from './postgres';
export * from './recorded';
export { type ServiceDatabase, startServiceDatabase } from './service-database';
export * from './time';
