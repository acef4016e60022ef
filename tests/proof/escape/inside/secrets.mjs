// Recognises the secrets of the run and of its stack in bytes. They arrive as pieces, written in hexadecimal, so that finding one's own
// list is not a finding and that the list opens nothing.

const runTokenShape = /eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{40,}/;

export const secretFinder = (secrets) => {
  const needles = secrets.map(({ name, hex }) => ({ name, bytes: Buffer.from(hex, 'hex') }));
  return (bytes) => {
    const found = needles.filter((needle) => bytes.includes(needle.bytes)).map(({ name }) => name);
    if (found.length === 0 && runTokenShape.test(bytes.toString('latin1'))) found.push('something shaped like a run token');
    return found;
  };
};
