/* mcp.mjs -- a gateway with MCP servers behind it, as tests use them.
 *
 *     const g = await gateway(t, { servers: { fake: server }, args: ['--mcp-errors', 'object'] });
 *     g.up.next(callStream([shown('fake', 'echo'), { message: 'hi' }, 'c1']), textStream('Done.'));
 *     const { items, response } = await g.stream({ tools: [declared('fake')] });
 *
 * `servers` are scripted servers (mcp_server.mjs) or entries of the file. The
 * gateway is asked until every one of them is available, unless `wait` says
 * otherwise. `lists` is mcp_list_items: most tests are about calls, and want no listing before
 * them; mcp_list.test.mjs is about those. g.stream() and g.respond() have Api's checks (state.mjs).
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { get } from './client.mjs';
import { startDaemon } from './daemon.mjs';
import { folder } from './folder.mjs';
import { patience } from './patience.mjs';
import { Api } from './state.mjs';
import { chunk, frames, startUpstream, stream, usageChunk } from './upstream.mjs';

export const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/* The tool as a request declares it. */
export const declared = (server_label, more = {}) => ({ type: 'mcp', server_label, ...more });

/* The name that the model is shown, where nothing has to be replaced. */
export const shown = (label, tool) => `mcp__${label}__${tool}`;

/* Writes a file of servers. */
export const writeServers = (path, servers) =>
    writeFileSync(path, JSON.stringify({ mcpServers: Object.fromEntries(Object.entries(servers).map(([label, one]) => [label, one.entry ?? one])) }), { mode: 0o600 });

export class Gateway extends Api {
    #parts;
    #closing;

    constructor(captures = { keep() {} }) {
        const parts = {};
        super(parts, captures);
        this.#parts = parts;
    }

    /* Starts the daemon, in front of `up`. */
    async start({ servers = {}, file, up, args = [], env = {}, wait = true, lists = 'remote', headers = {} }) {
        writeServers(file, servers);
        const listing = lists === 'declared' ? [] : ['--mcp-list-items', lists];
        const daemon = await startDaemon({ upstream: up.url, args: ['--model', 'test-model', '--mcp-config', file, ...listing, ...args], env });
        Object.assign(this.#parts, { up, daemon });
        Object.assign(this, { up, daemon, file, headers });
        if (wait)
            await this.available(...Object.keys(servers));
        return this;
    }

    async servers() {
        const { data } = (await get(this.daemon, '/v1/mcp/servers', { headers: this.headers })).json;
        return Object.fromEntries(data.map((one) => [one.server_label, one]));
    }

    /* Asks until the function is true of the servers by label. */
    async untilServers(met, ms = 20_000) {
        for (const deadline = performance.now() + patience(ms); ; await pause(20)) {
            const servers = await this.servers();
            if (met(servers))
                return servers;
            if (performance.now() > deadline)
                throw new Error(`servers did not become as wanted: ${JSON.stringify(servers)}\n${this.daemon.log.slice(-4000)}`);
        }
    }

    available(...labels) {
        return this.untilServers((servers) => labels.every((label) => servers[label]?.available));
    }

    /* The tools the gateway knows of a server. */
    async tools(label) {
        return (await this.read(`mcp/servers/${label}/tools`)).tools;
    }

    async untilTools(label, met, ms = 20_000) {
        for (const deadline = performance.now() + patience(ms); ; await pause(20)) {
            const { status, json } = await get(this.daemon, `/v1/mcp/servers/${label}/tools`);
            if (status === 200 && met(json.tools.map(({ name }) => name)))
                return json.tools;
            if (performance.now() > deadline)
                throw new Error(`tools of ${label} did not become as wanted: ${JSON.stringify(json)}`);
        }
    }

    /* Writes the file of servers again and has it read. */
    reload(servers) {
        writeServers(this.file, servers);
        this.daemon.child.kill('SIGHUP');
    }

    /* What the model was shown last. */
    get messages() {
        return this.up.requests.at(-1).body.messages;
    }

    /* Once, however often it is asked to. */
    close() {
        return (this.#closing ??= this.daemon?.stop());
    }
}

/* Ends all of it, also what stands behind a daemon that ended badly: what is
 * left open would keep the test's process alive. */
async function endAll(g, servers, up) {
    try {
        await g.close();
    } finally {
        for (const server of Object.values(servers ?? {}))
            await server.close?.();
        await up?.close();
    }
}

/* A gateway for one test; the upstream and the scripted servers go with it. */
export async function gateway(t, options = {}) {
    const g = new Gateway(options.captures);
    const up = options.up ?? await startUpstream();
    t.after(() => endAll(g, options.servers, options.up ? undefined : up));
    return g.start({ file: folder(t, 'mcp.json'), ...options, up });
}

/* One for all tests of a group. `make` gives the options, and is called when the
 * group begins; hooks are those of node:test. */
export function sharedGateway({ before, beforeEach, after }, captures, make) {
    const g = new Gateway(captures);
    const dir = mkdtempSync(join(tmpdir(), 'antiphon-test-'));
    before(async () => {
        g.up = await startUpstream();
        g.options = await make();
        await g.start({ file: join(dir, 'mcp.json'), ...g.options, up: g.up });
    });
    beforeEach(() => {
        g.up.reset();
        Object.values(g.options.servers ?? {}).forEach((server) => server.reset?.());
    });
    after(() => endAll(g, g.options?.servers, g.up));
    after(() => rmSync(dir, { recursive: true }));
    return g;
}

/* ---- what the upstream says ---- */

/* One call whose arguments are any text, after some text if wanted. */
export function rawCall([name, args, id = 'c1'], { text, finish = 'tool_calls' } = {}) {
    return stream(frames(...(text === undefined ? [] : [chunk({ content: text })]),
        chunk({ tool_calls: [{ index: 0, id, type: 'function', function: { name, arguments: args } }] }),
        chunk({}, finish), usageChunk(20, 5), '[DONE]'));
}

/* ---- what a client sees ---- */

/* The types of events in short, with those of items; deltas that follow each
 * other count as one. */
export const flowOf = (events) => events
    .map(({ type, item }) => type.replace(/^response\./, '') + (item === undefined ? '' : ` ${item.type}`))
    .filter((type, i, all) => !(type.endsWith('.delta') && all[i - 1] === type));

/* Items that can be compared with those of another response. */
export const withoutIds = (items) => items.map(({ id, ...item }) => ({ ...item, id: id.replace(/_.*/, '_') }));
