import { type Command, callMapEntries, commands, eventTypes, type ServiceName, serviceNames } from '@fluidbox/contracts';
import { sourcesIn } from './sources';

/**
 * Who calls whom over NATS, found in the code, equals libs/contracts/call-map.json, from which the permissions of the NATS users are made: too
 * much there is a right that nobody needs, too little fails in production only.
 */
const byName = new Map<string, Command>(Object.entries(commands));
const nameOf = ({ service, name }: Command): string => `${service}.${name}`;

/** Commands named as the first argument of a call of `method`, as `Bus.request` and `subscribe` are written everywhere. */
function commandsGivenTo(method: string, folder: string): string[] {
  const pattern = new RegExp(`\\b${method}\\(\\s*([A-Z][A-Za-z]*)\\b`, 'g');
  const found = sourcesIn(folder).flatMap(({ text }) => [...text.matchAll(pattern)].map(([, name]) => byName.get(name ?? '')));
  return [...new Set(found.flatMap((command) => (command === undefined ? [] : [nameOf(command)])))].sort();
}
const folderOf = (service: ServiceName): string => `services/${service}/src`;

function appendsOf(service: ServiceName): string[] {
  const types = Object.entries(eventTypes).filter(([, { appender }]) => appender.split(/, | or /).includes(service));
  // run-specs and delivery have streams of their own, and what is erased after a run has ended stands beside it; everything else is in the stream of a run.
  const categoryOf = (type: string): string =>
    service === 'run-specs' || type.startsWith('webhook.')
      ? (type.split('.')[0] ?? '')
      : type.startsWith('callback.')
        ? 'delivery'
        : type === 'content.erased'
          ? 'erasure'
          : 'run';
  return [...new Set(types.map(([type]) => categoryOf(type)))].sort();
}

describe('the NATS call map', () => {
  it.each(serviceNames)('has what %s asks for, and nothing else', (service) => {
    expect(commandsGivenTo('request', folderOf(service))).toEqual([...callMapEntries[service].calls].sort());
  });

  it.each(serviceNames)('lets %s publish the log of the categories it appends to', (service) => {
    expect(appendsOf(service)).toEqual([...callMapEntries[service].appends].sort());
  });

  it.each(serviceNames)('%s answers its own commands, all of them', (service) => {
    const own = Object.values(commands).filter((command) => command.service === service);
    expect(commandsGivenTo('subscribe', folderOf(service))).toEqual(own.map(nameOf).sort());
  });

  it('has a caller for every command', () => {
    const called = new Set(serviceNames.flatMap((service) => callMapEntries[service].calls));
    expect(
      Object.values(commands)
        .map(nameOf)
        .filter((name) => !called.has(name)),
    ).toEqual([]);
  });

  it('is not gone round: nobody subscribes or publishes by a subject of their own', () => {
    const pattern = /['"`]fb\.(cmd|log|witness)\./;
    const offenders = serviceNames.flatMap((service) => sourcesIn(folderOf(service)).filter(({ text }) => pattern.test(text)));
    expect(offenders.map(({ file }) => file)).toEqual([]);
  });
});
