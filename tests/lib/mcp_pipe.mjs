/* mcp_pipe.mjs -- the stdio transport of the scripted MCP server.
 *
 * The gateway starts mcp_stdio.mjs, which connects back to the test: each
 * connection is a process, the newest is server.process:
 *
 *     server.process.hello         { pid, env, argv, cwd, argv, ppid }
 *     server.process.say({ err: 'a line\n' })      see mcp_stdio.mjs
 *     await server.process.ended   its connection is closed: it is gone
 */
import { mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { LOST, isHttp } from './mcp_server.mjs';

const CHILD = fileURLToPath(new URL('mcp_stdio.mjs', import.meta.url));

class Process {
    isOver = false;

    constructor(socket, server) {
        this.socket = socket;
        this.ended = new Promise((done) => socket.on('close', () => {
            this.isOver = true;
            for (const call of server.calls.filter(({ session }) => session === this))
                call.end();
            server.changed();
            done();
        }));
        socket.on('error', () => {}); /* it was killed */
        createInterface({ input: socket }).on('line', (line) => this.#heard(JSON.parse(line), server));
    }

    #heard(what, server) {
        if (what.in !== undefined)
            this.#line(what.in, server);
        else
            Object.assign(this, what); /* hello, end, signal, grandchild */
        server.changed();
    }

    #line(line, server) {
        const message = JSON.parse(line);
        const push = (what) => this.push(what);
        const way = { session: this, send: push, reply: (answer) => this.#reply(answer) };
        server.take(message, way).catch((error) => (server.fault = error));
    }

    #reply(answer) {
        if (answer === LOST)
            this.say({ exit: 3 });
        else if (typeof answer !== 'symbol' && !isHttp(answer))
            this.push(answer);
    }

    push(message) {
        this.write(`${JSON.stringify(message)}\n`);
    }

    /* Any text on its stdout. */
    write(text) {
        this.say({ out: text });
    }

    say(what) {
        if (!this.isOver)
            this.socket.write(`${JSON.stringify(what)}\n`);
    }
}

export async function serve(server, { args = [], entry = {} }) {
    const dir = mkdtempSync(join(tmpdir(), 'antiphon-mcp-'));
    const path = join(dir, 'control');
    const listener = net.createServer((socket) => {
        server.process = new Process(socket, server);
        server.sessions.push(server.process);
        server.changed();
    });
    await new Promise((done) => listener.listen(path, done));
    server.entry = { command: process.execPath, args: [CHILD, path, ...args], ...entry };
    server.close = async () => {
        for (const one of server.sessions)
            one.socket.destroy();
        await new Promise((done) => listener.close(done));
        rmSync(dir, { recursive: true });
        if (server.fault)
            throw server.fault;
    };
    return server;
}
