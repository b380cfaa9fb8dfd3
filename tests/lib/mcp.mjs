/* mcp.mjs -- a gateway with MCP servers behind it, as tests use them.
 *
 *     const g = await gateway(t, { servers: { fake: server }, args: ['--mcp-errors', 'object'] });
 *     g.up.next(callStream([shown('fake', 'echo'), { message: 'hi' }, 'c1']), textStream('Done.'));
 *     const { items, response } = await g.stream({ tools: [declared('fake')] });
 *
 * `servers` are scripted servers (mcp_server.mjs) or entries of the file. The
 * gateway is asked until every one of them is available, unless `wait` says
 * otherwise. g.stream() and g.respond() have Api's checks (state.mjs).
 */
import { writeFileSync } from 'node:fs';
import { get } from './client.mjs';
import { startDaemon } from './daemon.mjs';
import { folder } from './folder.mjs';
import { patience } from './patience.mjs';
import { Api } from './state.mjs';
import { startUpstream } from './upstream.mjs';

export const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/* The tool as a request declares it. */
export const declared = (server_label, more = {}) => ({ type: 'mcp', server_label, ...more });

/* The name that the model is shown, where nothing has to be replaced. */
export const shown = (label, tool) => `mcp__${label}__${tool}`;

/* Writes a file of servers. */
export const writeServers = (path, servers) =>
    writeFileSync(path, JSON.stringify({ mcpServers: Object.fromEntries(Object.entries(servers).map(([label, one]) => [label, one.entry ?? one])) }), { mode: 0o600 });

export class Gateway extends Api {
    constructor(parts, captures = { keep() {} }) {
        super(parts, captures);
        Object.assign(this, parts);
    }

    async servers() {
        const { data } = (await get(this.daemon, '/v1/mcp/servers')).json;
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

    close() {
        return this.daemon.stop();
    }
}

/* Starts one; `up` and `store` can be those of another, to follow it. */
async function start({ servers = {}, file, up, args = [], env = {}, wait = true, captures }) {
    writeServers(file, servers);
    const daemon = await startDaemon({ upstream: up.url, args: ['--model', 'test-model', '--mcp-config', file, ...args], env });
    const g = new Gateway({ up, daemon, file }, captures);
    if (wait) {
        try {
            await g.available(...Object.keys(servers));
        } catch (error) {
            daemon.child.kill('SIGKILL');
            throw error;
        }
    }
    return g;
}

/* A gateway for one test; the upstream and the scripted servers go with it. */
export async function gateway(t, options = {}) {
    const { servers = {} } = options;
    let { up } = options;
    if (up === undefined) {
        up = await startUpstream();
        t.after(() => up.close());
    }
    let g;
    t.after(() => g?.close());
    for (const one of Object.values(servers))
        t.after(() => one.close?.());
    return (g = await start({ file: folder(t, 'mcp.json'), ...options, up }));
}
