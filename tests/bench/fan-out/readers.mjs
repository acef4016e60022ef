// The clients of the fan-out benches, in a process of their own: plain sockets that count what they get. Sampled ones also note how old each event is.
import net from 'node:net';

const samplesMax = 25;
let received = 0;
let ages = [];
const wanted = [];
const sockets = [];

const settle = () => {
  while (wanted.length > 0 && received >= wanted[0]) process.send({ reached: wanted.shift() });
};

function open(port, path, sampled) {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
    sockets.push(socket);
    let head = '';
    socket.on('error', reject);
    socket.on('connect', () => socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`));
    socket.on('data', (chunk) => {
      if (head !== null) {
        head += chunk.toString('latin1');
        // The head and the first hint of the stream, as one chunk.
        if (!head.includes('retry: 1000\n\n\r\n')) return;
        head = null;
        resolve();
        return;
      }
      received += chunk.length;
      if (sampled) {
        const now = Date.now();
        for (const [, at] of chunk.toString('latin1').matchAll(/"occurred_at":"([^"]+)"/g)) ages.push(now - Date.parse(at));
      }
      settle();
    });
  });
}

process.on('message', async (message) => {
  if (message.open !== undefined) {
    const { port, path, count, sample } = message.open;
    for (let done = 0; done < count; done += 100)
      await Promise.all(Array.from({ length: Math.min(100, count - done) }, (_, i) => open(port, path, sample && done + i < samplesMax)));
    process.send({ opened: count });
  } else if (message.reach !== undefined) {
    wanted.push(message.reach);
    settle();
  } else if (message.ages === true) {
    process.send({ ages });
    ages = [];
  } else if (message.close === true) {
    for (const socket of sockets.splice(0)) socket.destroy();
    received = 0;
    process.send({ closed: true });
  }
});
process.on('disconnect', () => process.exit(0));
