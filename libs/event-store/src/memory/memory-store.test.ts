import { describeEventStore } from '../fixtures/store-suite';
import { createMemoryStore } from './memory-store';

describeEventStore('memory', async () => createMemoryStore());
