/* driver.mjs URL -- the gateway as a client of the MCP conformance suite.
 *
 * The suite starts a server and runs this with its URL. It puts a gateway in
 * front, asks it one question, and has a scripted model call every tool that
 * the gateway offers. What went over the wire is the suite's to judge; here
 * only a gateway that does not work at all is an error.
 *
 * MCP_CONFORMANCE_CONTEXT may say which calls to make, and with what.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { get } from '../lib/client.mjs';
import { Gateway } from '../lib/mcp.mjs';
import { callStream, startUpstream, textStream } from '../lib/upstream.mjs';

const LABEL = 'suite';
const PREFIX = `mcp__${LABEL}__`;
const url = process.argv[2];
const { toolCalls = [] } = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');

/* Something that a schema accepts, as far as the suite's tools go. */
const SAMPLES = { string: 'text', number: 2, integer: 2, boolean: true, object: {}, array: [] };
const sampleOf = ({ properties = {} }) => Object.fromEntries(Object.entries(properties).map(([name, { type }]) => [name, SAMPLES[type] ?? 'text']));

/* The tool that wants another's schema back gets it as the gateway lists it. */
function argumentsOf(name, schema, listed) {
    if (name === 'json_schema_echo')
        return { schema: listed.find((tool) => tool.name !== name).input_schema };
    return toolCalls.find((call) => call.name === name)?.arguments ?? sampleOf(schema);
}

const dir = mkdtempSync(join(tmpdir(), 'antiphon-conformance-'));
const up = await startUpstream();
const g = new Gateway();
try {
    await g.start({ servers: { [LABEL]: { url } }, file: join(dir, 'mcp.json'), up, args: ['--mcp-inject', 'always'], wait: false });
    const { [LABEL]: server } = await g.untilServers((servers) => servers[LABEL].available || servers[LABEL].error);
    const listed = (await get(g.daemon, `/v1/mcp/servers/${LABEL}/tools`)).json.tools ?? [];
    up.next(({ body }) => {
        const calls = (body.tools ?? []).map(({ function: { name, parameters } }, i) => [name, argumentsOf(name.slice(PREFIX.length), parameters, listed), `call_${i}`]);
        return calls.length > 0 ? callStream(...calls) : textStream('There is no tool.');
    });
    const { status, output } = await g.respond();
    console.log(JSON.stringify({ server, status, output }, null, 1));
} catch (error) {
    console.log(error, g.daemon?.log);
    process.exitCode = 1;
} finally {
    await g.close();
    await up.close();
    rmSync(dir, { recursive: true });
}
