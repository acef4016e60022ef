export { identify, isAlive, type ProcessIdentity } from '@fluidbox/tooling/identity';
