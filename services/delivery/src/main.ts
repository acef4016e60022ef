import { runMain } from '@fluidbox/service-kit';
import { definition } from './service';

void runMain(definition);
