/* notify.mjs -- the service manager's end of NOTIFY_SOCKET. Node knows no datagrams between processes of
 * one machine, so a small Python program listens, and hands each on as a line of JSON. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { folder } from './folder.mjs';
import { patience } from './patience.mjs';

const LISTEN = `
import json, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
path = sys.argv[1]
s.bind('\\0' + path[1:] if path[0] == '@' else path)
print('listening', flush=True)
while True:
    print(json.dumps(s.recv(65536).decode()), flush=True)
`;

/* said: all that was heard, in order; until(pattern) waits for what has not been waited for yet. */
export async function startNotify(t, path = folder(t, 'notify')) {
    const child = spawn('python3', ['-c', LISTEN, path], { stdio: ['ignore', 'pipe', 'inherit'] });
    const said = [];
    let text = '', seen = 0;
    t.after(() => child.kill('SIGKILL'));
    child.stdout.setEncoding('utf8').on('data', (part) => {
        const lines = (text += part).split('\n');
        text = lines.pop();
        said.push(...lines.filter((line) => line.startsWith('"')).map((line) => JSON.parse(line)));
    });
    await once(child.stdout, 'data');
    return {
        path,
        said,
        async until(pattern, ms = 10_000) {
            for (const deadline = performance.now() + patience(ms); ;) {
                for (; seen < said.length; seen++) {
                    const match = said[seen].match(pattern);
                    if (match)
                        return seen++, match;
                }
                if (performance.now() > deadline)
                    throw new Error(`never said ${pattern}: ${JSON.stringify(said)}`);
                await new Promise((done) => setTimeout(done, 5));
            }
        },
    };
}
