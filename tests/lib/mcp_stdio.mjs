/* mcp_stdio.mjs SOCKET -- the process of an MCP server that speaks stdio.
 *
 * It knows nothing itself: what comes on stdin it hands to the test behind the
 * socket (see mcp_pipe.mjs), and it does what that says, one JSON per line:
 *
 *     { "out": "text" }  { "err": "text" }       write, as it is
 *     { "bytes": "base64" }                      the same for what is no text
 *     { "exit": 3 }  { "kill": "SIGKILL" }       end
 *     { "deaf": true }                           outlive the end of stdin and SIGTERM
 *     { "spawn": "grandchild" }                  a process of its own that sleeps
 *
 * It tells { "hello": {...} } first, then { "in": "line" } and { "end": true }.
 */
import { spawn } from 'node:child_process';
import net from 'node:net';
import { createInterface } from 'node:readline';

const socket = net.connect(process.argv[2]);
const tell = (what) => socket.write(`${JSON.stringify(what)}\n`);
let isDeaf = false;
let grandchild;

const ACTIONS = {
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
    bytes: (base64) => process.stdout.write(Buffer.from(base64, 'base64')),
    exit: (status) => process.exit(status),
    kill: (signal) => process.kill(process.pid, signal),
    deaf: () => {
        isDeaf = true;
        process.on('SIGTERM', () => tell({ signal: 'SIGTERM' }));
    },
    spawn: () => {
        grandchild = spawn('sleep', ['1000'], { stdio: 'inherit' });
        tell({ grandchild: grandchild.pid });
    },
};

const hello = () => ({ pid: process.pid, ppid: process.ppid, argv: process.argv.slice(3), cwd: process.cwd(), env: process.env });

socket.on('connect', () => tell({ hello: hello() }));
socket.on('error', () => process.exit(1)); /* the test is over */
socket.on('close', () => {
    grandchild?.kill('SIGKILL');
    process.exit(0);
});
createInterface({ input: socket }).on('line', (line) => {
    for (const [what, value] of Object.entries(JSON.parse(line)))
        ACTIONS[what](value);
});
createInterface({ input: process.stdin, crlfDelay: Infinity })
    .on('line', (line) => tell({ in: line }))
    .on('close', () => {
        tell({ end: true });
        if (!isDeaf)
            socket.end();
    });
process.stdout.on('error', () => {}); /* the gateway has closed it */
