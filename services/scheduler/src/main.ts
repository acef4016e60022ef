import { runService } from '@fluidbox/service-kit';
import { definition } from './service';

void runService(definition, process.env);
