import { environmentVariables, type ServiceName, serviceNames } from '@fluidbox/contracts';
import { homeLayout } from './layout';
import { toolsBin } from './nats-binary';
import { secretFiles } from './secrets';
import { allInOneEnvironment, type DeploymentFacts, serviceEnvironment, variablesOf } from './service-environment';

const layout = homeLayout('/srv/home');
const facts: DeploymentFacts = {
  layout,
  secrets: secretFiles(layout.secrets),
  ports: { public: 1, control: 2, llm: 3, nats: 4, postgres: 5 },
  deploymentId: 'd',
  providerKeys: { anthropic: true, openai: true },
  caller: {
    PATH: '/usr/bin',
    ANTHROPIC_API_KEY: 'sk-secret',
    OPENAI_API_KEY: 'sk-other',
    HTTPS_PROXY: 'http://proxy',
    FLUIDBOX_LOCAL_SOURCES: '/src',
    UNRELATED: 'x',
  },
};

/** `scheduler, runs: names this deployment` → the services that read the variable. */
const readersOf = (text: string): string[] => (text.split(':')[0] ?? '').split(',').map((name) => name.trim());

describe('environment of a service', () => {
  it.each(Object.entries(environmentVariables))('%s goes to the services its description names', (variable, text) => {
    const readers = readersOf(text);
    if (readers.some((name) => !serviceNames.includes(name as ServiceName) && name !== 'listeners')) return;
    const listeners = ['gateway', 'runner-gateway', 'llm-facade'];
    const described = readers.flatMap((name) => (name === 'listeners' ? listeners : [name])).sort();
    const given = serviceNames.filter((name) => (variablesOf[name] as readonly string[]).includes(variable)).sort();
    expect(given).toEqual(described);
  });

  it('holds the files of that service and no key of another', () => {
    const scheduler = serviceEnvironment('scheduler', facts);
    expect(scheduler.FLUIDBOX_SECRETS_FILE).toBe('/srv/home/secrets/scheduler.json');
    expect(scheduler.FLUIDBOX_LOCAL_SOURCES).toBe('/src');
    expect(serviceEnvironment('run-specs', facts).FLUIDBOX_LOCAL_SOURCES).toBe('/src');
    for (const name of ['FLUIDBOX_KEK_FILE', 'FLUIDBOX_TOKEN_KEY_FILE', 'FLUIDBOX_ADMIN_TOKEN_FILE', 'FLUIDBOX_SECRETS_DIR']) {
      expect(scheduler).not.toHaveProperty(name);
    }
    expect(serviceEnvironment('runs', facts).FLUIDBOX_TOKEN_KEY_FILE).toBe('/srv/home/secrets/token-key.pem');
  });

  it('never holds the provider key itself, nor anything of the caller that was not asked for', () => {
    for (const environment of [...serviceNames.map((name) => serviceEnvironment(name, facts)), allInOneEnvironment(facts)]) {
      expect(environment).not.toHaveProperty('ANTHROPIC_API_KEY');
      expect(environment).not.toHaveProperty('OPENAI_API_KEY');
      expect(environment).not.toHaveProperty('UNRELATED');
      expect(environment.PATH).toBe(`${toolsBin}:/usr/bin`);
    }
    expect(serviceEnvironment('llm-facade', facts).FLUIDBOX_ANTHROPIC_KEY_FILE).toBe('/srv/home/secrets/anthropic-key');
    expect(serviceEnvironment('llm-facade', facts).FLUIDBOX_OPENAI_KEY_FILE).toBe('/srv/home/secrets/openai-key');
    const without = { ...facts, providerKeys: { anthropic: false, openai: false } };
    expect(serviceEnvironment('llm-facade', without)).not.toHaveProperty('FLUIDBOX_OPENAI_KEY_FILE');
  });

  it('has the way out only where a service talks to others', () => {
    const withProxy = serviceNames.filter((name) => 'HTTPS_PROXY' in serviceEnvironment(name, facts));
    expect(withProxy).toEqual(['llm-facade', 'scheduler', 'delivery']);
  });
});
