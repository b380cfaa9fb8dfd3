/* validation.test.mjs -- what is refused, with which words, and what is not. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures, checkError, checkStream } from '../lib/check.mjs';
import { ask } from '../lib/client.mjs';
import { startDaemon, shared } from '../lib/daemon.mjs';

const captures = new Captures();
const fn = (name) => ({ type: 'function', name, parameters: { type: 'object', properties: {} } });
const keys = (n) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`k${i}`, 'v']));
const user = (...content) => [{ role: 'user', content }];

/* [request without model, code, param, message if the contract gives its words] */
const REFUSED = [
    [{}, 'missing_required_parameter', 'input', "Missing required parameter: 'input'."],
    [{ input: null }, 'missing_required_parameter', 'input', "Missing required parameter: 'input'."],
    [{ input: [] }, 'missing_required_parameter', 'input', "Missing required parameter: 'input'."],
    [{ input: 5 }, 'invalid_type', 'input'],
    [{ model: 5, input: 'x' }, 'invalid_type', 'model'],
    [{ input: 'x', instructions: 5 }, 'invalid_type', 'instructions', /^Invalid type for 'instructions': expected a string, but got an? (integer|number) instead\.$/],
    [{ input: 'x', stream: 'yes' }, 'invalid_type', 'stream', "Invalid type for 'stream': expected a boolean, but got a string instead."],
    [{ input: 'x', temperature: 'hot' }, 'invalid_type', 'temperature', "Invalid type for 'temperature': expected a number, but got a string instead."],
    [{ temperature: 'hot' }, 'invalid_type', 'temperature', /./],
    [{ input: 'x', temperature: 2.1 }, 'decimal_above_max_value', 'temperature', /^Invalid 'temperature': decimal above maximum value\./],
    [{ input: 'x', temperature: -0.1 }, 'decimal_below_min_value', 'temperature'],
    [{ input: 'x', top_p: 1.5 }, 'decimal_above_max_value', 'top_p'],
    [{ input: 'x', presence_penalty: -3 }, 'decimal_below_min_value', 'presence_penalty'],
    [{ input: 'x', frequency_penalty: 3 }, 'decimal_above_max_value', 'frequency_penalty'],
    [{ input: 'x', max_output_tokens: 0 }, 'integer_below_min_value', 'max_output_tokens', "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 1, but got 0 instead."],
    [{ input: 'x', max_output_tokens: 1.5 }, 'invalid_type', 'max_output_tokens'],
    [{ input: 'x', max_tool_calls: 0 }, 'integer_below_min_value', 'max_tool_calls', "Invalid 'max_tool_calls': integer below minimum value. Expected a value >= 1, but got 0 instead."],
    [{ input: 'x', top_logprobs: 21 }, 'integer_above_max_value', 'top_logprobs'],
    [{ input: 'x', truncation: 'x' }, 'invalid_value', 'truncation', "Invalid value: 'x'. Supported values are: 'auto' and 'disabled'."],
    [{ input: 'x', include: ['all'] }, 'invalid_value', /^include/],
    [{ input: 'x', reasoning: { effort: 'huge' } }, 'invalid_value', 'reasoning.effort'],
    [{ input: 'x', reasoning: { summary: 'long' } }, 'invalid_value', 'reasoning.summary'],
    [{ input: 'x', text: { verbosity: 'loud' } }, 'invalid_value', 'text.verbosity'],
    [{ input: 'x', text: { format: { type: 'xml' } } }, 'invalid_value', 'text.format.type'],
    [{ input: 'x', text: { format: { type: 'json_schema', schema: {} } } }, 'missing_required_parameter', 'text.format.name', "Missing required parameter: 'text.format.name'."],
    [{ input: 'x', text: { format: { type: 'json_schema', name: 'n' } } }, 'missing_required_parameter', 'text.format.schema'],
    [{ input: 'x', metadata: keys(17) }, 'object_above_max_properties', 'metadata'],
    [{ input: 'x', metadata: { k: 'v'.repeat(513) } }, 'string_above_max_length', /^metadata/],
    [{ input: 'x', metadata: { k: 1 } }, 'invalid_type', /^metadata/],
    [{ input: 'x', safety_identifier: 'x'.repeat(65) }, 'string_above_max_length', 'safety_identifier'],
    [{ input: 'x', background: true, store: false }, 'invalid_value', 'background'],
    [{ input: 'x', prompt: { id: 'p' } }, 'unsupported_parameter', 'prompt'],
    [{ input: 'x', previous_response_id: 'resp_x' }, 'previous_response_not_found', 'previous_response_id', "Previous response with id 'resp_x' not found."],
    [{ input: 'x', previous_response_id: 'resp_x', conversation: 'conv_x' }, 'mutually_exclusive_parameters', 'previous_response_id', "Mutually exclusive parameters: 'previous_response_id' and 'conversation'."],
    [{ input: [{ type: 'telepathy' }] }, 'invalid_value', 'input[0].type'],
    [{ input: user({ type: 'input_smell' }) }, 'invalid_value', 'input[0].content[0].type'],
    [{ input: user({ type: 'input_text', text: 'a' }, { type: 'input_image', file_id: 'file_1' }) }, 'unsupported_parameter', /^input\[0\]\.content\[1\]/],
    [{ input: user({ type: 'input_file', file_url: 'http://x/' }) }, 'unsupported_parameter', /^input\[0\]\.content\[0\]/],
    [{ input: 'x', tools: {} }, 'invalid_type', 'tools'],
    [{ input: 'x', tools: [fn('a'), fn('a')] }, 'invalid_value', /^tools/],
    [{ input: 'x', tools: [{ type: 'code_interpreter' }] }, 'missing_required_parameter', 'tools[0].container', "Missing required parameter: 'tools[0].container'."],
    [{ input: 'x', tools: [fn('a')], tool_choice: { type: 'function', name: 'b' } }, 'invalid_value', 'tool_choice', "Tool choice 'function' not found in 'tools' parameter."],
    [{ input: 'x', tool_choice: 'required' }, 'invalid_value', 'tool_choice'],
    [{ input: 'x', tool_choice: 'maybe' }, 'invalid_value', 'tool_choice'],
    [{ input: 'x', tools: [fn('a'), { type: 'file_search' }], tool_choice: { type: 'file_search' } }, /./, 'tool_choice'],
];

const OPTIONAL = ['instructions', 'previous_response_id', 'conversation', 'stream', 'stream_options', 'store', 'background',
    'max_output_tokens', 'max_tool_calls', 'temperature', 'top_p', 'presence_penalty', 'frequency_penalty', 'top_logprobs',
    'tools', 'tool_choice', 'parallel_tool_calls', 'text', 'reasoning', 'include', 'truncation', 'metadata', 'service_tier',
    'safety_identifier', 'prompt_cache_key', 'prompt_cache_retention', 'user', 'prompt', 'moderation'];

/* [why it must pass, request] */
const ACCEPTED = [
    ['null means not given', { input: 'x', ...Object.fromEntries(OPTIONAL.map((name) => [name, null])) }],
    ['unknown fields are ignored', { input: 'x', client_metadata: { a: 1 }, vendor: [] }],
    ['temperature 0 and 2', { input: 'x', temperature: 0, top_p: 0 }],
    ['temperature 2', { input: 'x', temperature: 2, top_p: 1 }],
    ['an empty tool list', { input: 'x', tools: [] }],
    ['one output token', { input: 'x', max_output_tokens: 1 }],
    ['a tool the gateway cannot serve', { input: 'x', tools: [{ type: 'file_search', vector_store_ids: [] }, { type: 'tool_search' }] }],
    ['the nested function form', { input: 'x', tools: [{ type: 'function', function: { name: 'f', parameters: {} } }] }],
    ['developer and system lists', { input: [{ role: 'developer', content: [{ type: 'input_text', text: 'd' }] }, { role: 'system', content: 's' }, { role: 'user', content: 'u' }] }],
    ['reasoning items without content', { input: [{ type: 'reasoning', summary: [{ type: 'summary_text', text: 's' }], content: null }, { role: 'user', content: 'u' }] }],
    ['foreign encrypted reasoning', { input: [{ type: 'reasoning', summary: [], encrypted_content: 'gAAAA-foreign' }, { role: 'user', content: 'u' }] }],
    ['tool output with an image', { input: [{ type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }, { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_image', image_url: 'data:image/png;base64,AA==' }] }] }],
    ['unparsable call arguments', { input: [{ type: 'function_call', call_id: 'c', name: 'f', arguments: '{"a' }, { type: 'function_call_output', call_id: 'c', output: 'x' }] }],
    ['sampling extras', { input: 'x', top_k: 4, min_p: 0.1, seed: 1, stop: ['x'], chat_template_kwargs: { a: 1 } }],
    ['metadata at its limits', { input: 'x', metadata: keys(16) }],
];

const short = (value) => JSON.stringify(value).slice(0, 70);
const matches = (value, pattern) => pattern instanceof RegExp ? assert.match(value, pattern) : assert.equal(value, pattern);

describe('requests', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after });

    for (const [body, code, param, message = /./] of REFUSED) {
        for (const streamed of 'stream' in body ? [undefined] : [undefined, true]) {
            test(`${short(body)} is refused: ${code}${streamed ? ', streamed' : ''}`, async () => {
                const got = await ask(both.daemon, { ...body, ...(streamed && { stream: true }) });
                const error = checkError(got, 400);
                captures.keep(`${code}.json`, got.bytes, '--kind', 'error');
                assert.equal(error.type, 'invalid_request_error');
                matches(error.code, code);
                matches(error.param, param);
                matches(error.message, message);
                assert.equal(both.up.requests.length, 0, 'the upstream was not asked');
            });
        }
    }

    for (const [why, body] of ACCEPTED) {
        test(`accepted: ${why}`, async () => {
            const got = await ask(both.daemon, body);
            assert.equal(got.status, 200, got.text);
            captures.keep(`${why}.json`, got.bytes);
            const streamed = await ask(both.daemon, { ...body, stream: true });
            assert.equal(checkStream(streamed.text).response.status, 'completed');
            captures.keep(`${why}.sse`, streamed.bytes);
        });
    }

    test('an unknown conversation is 404', async () => {
        checkError(await ask(both.daemon, { input: 'x', conversation: 'conv_x' }), 404, 'not_found');
    });

    for (const [what, body] of [['nothing', ''], ['half an object', '{"model":"m","input":'], ['two objects', '{} {}'],
        ['a comma too many', '{"input":"x",}'], ['bad UTF-8', Buffer.from('7b22696e707574223a22ff227d', 'hex')], ['a NUL', '{"input":"x"}\0']]) {
        test(`a body of ${what} is no JSON`, async () => {
            const error = checkError(await ask(both.daemon, body), 400, 'invalid_json');
            assert.match(error.message, /^The request body is not valid JSON/);
        });
    }

    for (const body of ['[]', '"x"', '5', 'null'])
        test(`a body of ${body} is refused`, async () => void checkError(await ask(both.daemon, body), 400));

    test('nesting without end is refused', async () => {
        checkError(await ask(both.daemon, `{"input":${'['.repeat(100_000)}`), 400);
        checkError(await ask(both.daemon, `{"input":"x","metadata":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_001)}`), 400);
    });
});

test('without a default model the model is required', async (t) => {
    const daemon = await startDaemon({ upstream: 'http://127.0.0.1:1/v1' });
    t.after(() => daemon.stop());
    const error = checkError(await ask(daemon, { input: 'x' }), 400, 'missing_required_parameter', 'model');
    assert.equal(error.message, "Missing required parameter: 'model'.");
});

captures.judge(test);
