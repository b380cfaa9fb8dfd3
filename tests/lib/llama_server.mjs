/* llama_server.mjs -- an upstream that takes requests as llama.cpp's server does.
 *
 *     up.always(llamaServer(({ messages, tools, mustCall }) => ({ text, reasoning, calls }), { window }));
 *
 * The function is the model: what it would like to do, calls as [name, arguments, id]. What becomes of
 * that is up to the server. Its habits were tried with builds of 2025 and 2026:
 *
 *   - tool_choice is read as a string; an object means auto. With `required` a grammar makes the model
 *     call one of the tools that were sent, with `none` a call stays a text.
 *   - response_format beside tools excludes calls, unless tool_choice is `none`, where there are none:
 *     the grammar of the answer takes the place of that of the calls.
 *   - json_schema is enforced; json_object only together with a schema.
 *   - parallel_tool_calls is a matter of the template: many models call as often as they like.
 *   - a prompt beyond the window is refused with status 400 and its numbers (common/server, since
 *     September 2025). Here four bytes of the messages are a token.
 *   - arguments in the history that are no JSON fail the whole request, with status 500.
 */
import { chunk, frames, json, stream, usageChunk, words } from './upstream.mjs';

const FINGERPRINT = { system_fingerprint: 'b6123-0a1b2c3d' };
const HEADERS = { 'content-type': 'text/event-stream', server: 'llama.cpp' };

const refuse = (code, message, type, more = {}) => json(code, { error: { code, message, type, ...more } }, { server: 'llama.cpp' });

/* For `probed` of the upstream: every answer tells by its head what the server is. */
export const llamaProbe = () => refuse(404, 'File Not Found', 'not_found_error');

export const tokensOf = (messages) => Math.ceil(Buffer.byteLength(JSON.stringify(messages)) / 4);

/* Something of the form, since the grammar allows nothing else. */
function enforced(schema, said) {
    try {
        if (typeof JSON.parse(said) === 'object')
            return said;
    } catch { /* the grammar would not have let it through */ }
    return JSON.stringify(Object.fromEntries(Object.keys(schema.properties ?? {}).map((name) => [name, said])));
}

const isNoJson = (text) => {
    try {
        return typeof JSON.parse(text) !== 'object';
    } catch {
        return true;
    }
};

function schemaOf(format) {
    return format?.type === 'json_schema' ? format.json_schema.schema : format?.type === 'json_object' ? format.schema : undefined;
}

function act({ messages, tools = [], tool_choice, response_format }, model) {
    const choice = typeof tool_choice === 'string' ? tool_choice : 'auto';
    const schema = schemaOf(response_format);
    const mustCall = choice === 'required' && !schema;
    const { text = '', reasoning, calls = [], finish } = model({ messages, tools, mustCall });
    const mayCall = tools.length > 0 && choice !== 'none' && !response_format;
    const allowed = calls.filter(([name]) => tools.some((t) => t.function.name === name));
    if (mustCall && allowed.length === 0)
        return { reasoning, calls: [[tools[0].function.name, {}, 'call_any']] };
    if (mayCall && allowed.length > 0)
        return { text, reasoning, calls: allowed };
    return { text: schema ? enforced(schema, text) : text || JSON.stringify(calls), reasoning, calls: [], finish };
}

function answer({ text = '', reasoning = '', calls, finish = calls.length > 0 ? 'tool_calls' : 'stop' }, prompt) {
    const tool_calls = calls.flatMap(([name, args, id = `call_${name}`], index) => {
        const said = typeof args === 'string' ? args : JSON.stringify(args);
        return [{ index, id, type: 'function', function: { name, arguments: '' } },
            ...said.match(/.{1,5}/gs).map((piece) => ({ index, function: { arguments: piece } }))];
    });
    const deltas = [{ role: 'assistant', content: null }, ...words(reasoning).map((reasoning_content) => ({ reasoning_content })),
        ...words(text).map((content) => ({ content })), ...tool_calls.map((call) => ({ tool_calls: [call] }))];
    return stream(frames(...deltas.map((delta) => chunk(delta, null, FINGERPRINT)), chunk({}, finish, FINGERPRINT),
        usageChunk(prompt, deltas.length - 1), '[DONE]'), HEADERS);
}

export const llamaServer = (model, { window = Infinity } = {}) => ({ body }) => {
    const prompt = tokensOf(body.messages);
    if (body.messages.some(({ tool_calls = [] }) => tool_calls.some((call) => isNoJson(call.function.arguments))))
        return refuse(500, 'Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] parse error', 'server_error');
    if (prompt >= window)
        return refuse(400, `request (${prompt} tokens) exceeds the available context size (${window} tokens), try increasing it`,
            'exceed_context_size_error', { n_prompt_tokens: prompt, n_ctx: window });
    return answer(act(body, model), prompt);
};
