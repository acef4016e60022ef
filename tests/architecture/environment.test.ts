import { environmentVariables, serviceNames } from '@fluidbox/contracts';
import { sourcesIn } from './sources';

/** `runs, gate: what it is for` → the services it is for; none for what every service or the deployment reads. */
const readersOf = (meaning: string): string[] => {
  const [names = ''] = meaning.split(':', 1);
  return names.split(', ').filter((name) => (serviceNames as readonly string[]).includes(name));
};
const documented = Object.entries(environmentVariables).map(([variable, meaning]) => ({ variable, readers: readersOf(meaning) }));
const textOf = (folder: string): string =>
  sourcesIn(folder)
    .map(({ text }) => text)
    .join('\n');
// Secrets, keys and the log are opened for every service by the kit.
const kit = textOf('libs/service-kit/src');
const settings = serviceNames.flatMap((service) =>
  sourcesIn(`services/${service}/src`)
    .filter(({ file }) => file.endsWith('/src/config.ts'))
    .flatMap(({ text }) => [...new Set(text.match(/\bFLUIDBOX_[A-Z_]+\b/g))].map((variable) => ({ service, variable }))),
);

describe('the environment of services', () => {
  it('has no variable that a service it is for does not read', () => {
    const unread = documented.flatMap(({ variable, readers }) =>
      readers
        .filter((service) => !settings.some((setting) => setting.service === service && setting.variable === variable))
        .filter(() => !kit.includes(variable))
        .map((service) => `${service} does not read ${variable}`),
    );
    expect(unread).toEqual([]);
  });
  it('is documented for every service that reads it', () => {
    expect(settings.length).toBeGreaterThan(0);
    const undocumented = settings.filter(
      ({ service, variable }) => !documented.some((row) => row.variable === variable && row.readers.includes(service)),
    );
    expect(undocumented).toEqual([]);
  });
});
