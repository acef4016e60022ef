export { startAllInOne } from './start-all-in-one';
