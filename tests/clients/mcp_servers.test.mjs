/* mcp_servers.test.mjs -- MCP servers that people run, from npm, behind the gateway. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { dirname, join } from 'node:path';
import test, { after, before, beforeEach, describe } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Captures } from '../lib/check.mjs';
import { open } from '../lib/client.mjs';
import { folder } from '../lib/folder.mjs';
import { freePort } from '../lib/free_port.mjs';
import { declared, gateway, pause, sharedGateway, shown } from '../lib/mcp.mjs';
import { patience } from '../lib/patience.mjs';
import { callStream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();
const programOf = (name) => fileURLToPath(new URL(`node_modules/.bin/mcp-server-${name}`, import.meta.url));
const stdio = (name, ...args) => ({ command: process.execPath, args: [programOf(name), ...args] });

/* server-everything behind a port of its own: { entry, start(), kill() }. */
class Everything {
    constructor(mode, path, port) {
        Object.assign(this, { mode, port, entry: { url: `http://127.0.0.1:${port}${path}`, maxConcurrency: 100 } });
    }

    async start() {
        this.child = spawn(process.execPath, [programOf('everything'), this.mode], { env: { ...process.env, PORT: String(this.port) }, stdio: 'ignore' });
        this.exited = once(this.child, 'exit');
        for (const deadline = performance.now() + patience(20_000); ; await pause(50)) {
            const socket = net.connect(this.port, '127.0.0.1');
            if (await new Promise((done) => socket.on('connect', () => done(true)).on('error', () => done(false))))
                return void socket.destroy();
            assert.ok(performance.now() < deadline, `server-everything ${this.mode} listens`);
        }
    }

    async kill() {
        this.child.kill('SIGKILL');
        await this.exited;
    }

    close() {
        return this.kill();
    }
}

/* The child that runs server-everything for the daemon. */
function childOf(daemon) {
    const { pid } = daemon.child;
    return readdirSync(`/proc/${pid}/task`)
        .flatMap((task) => readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number))
        .find((child) => readFileSync(`/proc/${child}/cmdline`, 'utf8').includes('mcp-server-everything'));
}

const TRANSPORTS = {
    stdio: async () => ({ entry: { ...stdio('everything', 'stdio'), maxConcurrency: 100 } }),
    streamableHttp: async () => new Everything('streamableHttp', '/mcp', await freePort()),
    sse: async () => new Everything('sse', '/sse', await freePort()),
};

for (const [mode, make] of Object.entries(TRANSPORTS)) {
    describe(`server-everything over ${mode}`, { concurrency: false }, () => {
        let server;
        const g = sharedGateway({ before, beforeEach, after }, captures, async () => {
            server = await make();
            await server.start?.();
            return { servers: { all: server } };
        });
        const ALL = { tools: [declared('all')] };
        const call = (tool, args, id = 'c1') => [shown('all', tool), args, id];

        async function called(tool, args) {
            g.up.next(callStream(call(tool, args)), textStream('Done.'));
            const { output: [item] } = await g.respond(ALL);
            return item;
        }

        /* Ends the server in the middle of things, and has it come back. */
        async function crash() {
            if (mode === 'stdio')
                return process.kill(childOf(g.daemon), 'SIGKILL');
            await server.kill();
            await server.start();
        }

        /* A request may come when the gateway has not heard of the crash yet, or has just heard of it: then it fails. */
        async function works() {
            for (const deadline = performance.now() + patience(30_000); ; await pause(100)) {
                const back = (await g.servers()).all.available && await called('echo', { message: 'back' }).catch(() => null);
                if (back?.output === 'Echo: back')
                    return;
                assert.ok(performance.now() < deadline, `it works again:\n${g.daemon.log.slice(-3000)}`);
            }
        }

        test('lists its tools, but for the one that wants a task', async () => {
            const names = (await g.tools('all')).map(({ name }) => name);
            assert.ok(names.includes('echo') && names.includes('get-sum'), names.join());
            assert.ok(!names.includes('simulate-research-query'));
        });

        test('calls', async () => {
            assert.equal((await called('echo', { message: 'héllo \u{1f600}' })).output, 'Echo: héllo \u{1f600}');
            assert.equal((await called('get-sum', { a: 2, b: 3 })).output, 'The sum of 2 and 3 is 5.');
        });

        test('a call with wrong arguments fails with the words of the server', async () => {
            const item = await called('echo', {});
            assert.deepEqual([item.status, item.output], ['failed', null]);
            assert.match(item.error, /Invalid arguments for tool echo/);
        });

        test('an image is named, not copied', async () => {
            assert.match((await called('get-tiny-image', {})).output, /\[image image\/png, \d+ bytes\]/);
        });

        test('structured content, links and embedded resources', async () => {
            assert.match((await called('get-structured-content', { location: 'New York' })).output, /^\{"temperature":/);
            assert.match((await called('get-resource-links', { count: 2 })).output, /\[resource\] .* demo:\/\/resource/);
            assert.match((await called('get-resource-reference', { resourceType: 'Text', resourceId: 1 })).output, /This is a plaintext resource/);
            const { output: blob } = await called('get-resource-reference', { resourceType: 'Blob', resourceId: 2 });
            assert.match(blob, /demo:\/\/resource\/dynamic\/blob\/2/);
            assert.ok(!blob.includes('UmVzb3VyY2U'));
        });

        test('a slow call with progress arrives', async () => {
            assert.match((await called('trigger-long-running-operation', { duration: 1, steps: 4 })).output, /^Long running operation completed/);
        });

        test('a client that leaves a slow call does no harm to the next one', async () => {
            g.up.next(callStream(call('trigger-long-running-operation', { duration: 2, steps: 10 })));
            const client = open(g.daemon, { model: 'm', input: 'Hi', stream: true, ...ALL });
            await client.until('mcp_call_arguments.done');
            client.destroy();
            assert.equal((await called('echo', { message: 'next' })).output, 'Echo: next');
        });

        test('100 calls of one round, each with its own result', async () => {
            g.up.next(callStream(...Array.from({ length: 100 }, (_, i) => call('get-sum', { a: i, b: 1 }, `c${i}`))), textStream('Done.'));
            const { output: items } = await g.respond(ALL);
            assert.deepEqual(items.slice(0, 100).map(({ output }) => output), Array.from({ length: 100 }, (_, i) => `The sum of ${i} and 1 is ${i + 1}.`));
        });

        test('a server that dies in a call: the call fails, and it works again afterwards', async () => {
            g.up.next(callStream(call('trigger-long-running-operation', { duration: 60, steps: 60 })), textStream('Lost.'));
            const client = open(g.daemon, { model: 'm', input: 'Hi', stream: true, ...ALL });
            await client.until('mcp_call_arguments.done');
            await pause(200); /* so that the call has reached it: nothing tells */
            await crash();
            await client.done;
            assert.match(client.text, /"status":"failed"/);
            assert.match(client.text, /response\.completed/);
            await works();
        });

        test('a server that dies between calls works again', async () => {
            await crash();
            await works();
        });
    });
}

test('server-filesystem reads a file and keeps to its folder', async (t) => {
    const dir = dirname(folder(t, 'x'));
    mkdirSync(join(dir, 'open'));
    writeFileSync(join(dir, 'open', 'a.txt'), 'Inside.');
    writeFileSync(join(dir, 'b.txt'), 'Outside.');
    const g = await gateway(t, { servers: { files: stdio('filesystem', join(dir, 'open')) }, captures });
    const paths = [join(dir, 'open', 'a.txt'), join(dir, 'b.txt')];
    g.up.next(callStream(...paths.map((path, i) => [shown('files', 'read_text_file'), { path }, `c${i}`])), textStream('Done.'));
    const { output: [inside, outside] } = await g.respond({ tools: [declared('files')] });
    assert.deepEqual([inside.status, inside.output], ['completed', 'Inside.']);
    assert.equal(outside.status, 'failed');
    assert.match(outside.error, /denied/);
});

test('server-memory remembers from one response to the next', async (t) => {
    const file = folder(t, 'memory.jsonl');
    const g = await gateway(t, { servers: { memory: { ...stdio('memory'), env: { MEMORY_FILE_PATH: file } } }, captures });
    const tools = [declared('memory')];
    const entities = [{ name: 'Oslo', entityType: 'city', observations: ['cold'] }];
    g.up.next(callStream([shown('memory', 'create_entities'), { entities }, 'c1']), textStream('Done.'));
    assert.equal((await g.respond({ tools })).output[0].status, 'completed');
    g.up.next(callStream([shown('memory', 'search_nodes'), { query: 'Oslo' }, 'c1']), textStream('Done.'));
    assert.match((await g.respond({ tools })).output[0].output, /cold/);
});

captures.judge(test);
