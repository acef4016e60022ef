import { parsePolicy } from '@fluidbox/policy';
import { renamed } from './rename';

const rename = (source: string, name: string): string | null => {
  const parsed = parsePolicy(source);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return renamed(source, parsed.placeOf(['name']), name);
};

describe('another name', () => {
  it.each([
    ['# mine\nname: old # why\nmode: observe\n', 'new', '# mine\nname: new # why\nmode: observe\n'],
    ['mode: observe\nname:   "old"\n', 'new', 'mode: observe\nname:   "new"\n'],
    ["name: 'old'\r\ntools: []\r\n", 'new', 'name: "new"\r\ntools: []\r\n'],
    ['{"name": "old", "tools": []}', 'new', '{"name": "new", "tools": []}'],
    [
      '{"tools": [{"match": ["name: x"], "action": "ask"}], "name" :"old"}',
      'n',
      '{"tools": [{"match": ["name: x"], "action": "ask"}], "name" :"n"}',
    ],
    ['name: old\n', '12', 'name: "12"\n'],
    ['name: old\n', 'true', 'name: "true"\n'],
    ['name: name\n', 'new', 'name: new\n'],
  ])('%j as %s', (source, name, expected) => {
    expect(rename(source, name)).toBe(expected);
    const parsed = parsePolicy(expected);
    expect(parsed.ok && parsed.document.name).toBe(name);
  });

  it('is refused where no plain name stands', () => {
    expect(rename('name: |-\n  old\n', 'new')).toBeNull();
    expect(rename('name:\n  # why\n  old\n', 'new')).toBeNull();
  });
});
