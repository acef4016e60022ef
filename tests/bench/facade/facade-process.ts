import { startService } from '@fluidbox/service-kit';
import { definition } from '../../../services/llm-facade/src/service';

/** The service as it is, in a process of its own, on the Postgres and NATS of the bench. */
void startService(definition, process.env).then(({ url, stop }) => {
  process.once('SIGTERM', () => void stop().finally(() => process.exit(0)));
  process.stdout.write(`${url}\n`);
});
