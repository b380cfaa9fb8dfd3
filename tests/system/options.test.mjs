/* options.test.mjs -- every key that changes what an upstream is asked, or how
 * its answer is read, from the flag of the daemon to the bytes.
 *
 * A row has a name, flags, a request, and what came of it: members of the Chat
 * request (undefined: not there), `error` [status, code, param] instead, or a
 * function that looks at the answer. All answers are judged by check.mjs. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { checkError, checkStream } from '../lib/check.mjs';
import { ask } from '../lib/client.mjs';
import { pair } from '../lib/daemon.mjs';
import { chunk, frames, stream } from '../lib/upstream.mjs';

const user = (content) => ({ role: 'user', content });
const tool = (name) => ({ type: 'function', name });
const call = (call_id) => ({ type: 'function_call', call_id, name: 'f', arguments: '{}' });
const output = (call_id, value = 'o') => ({ type: 'function_call_output', call_id, output: value });
const file = (filename, file_data) => user([{ type: 'input_file', filename, file_data }]);
const thought = (fields) => ({ type: 'reasoning', ...fields });
const LIMITED = { max_output_tokens: 5 };
const TOOLS = { tools: [tool('a'), tool('b')] };
const CALLED = { input: [user('u'), call('call_1'), output('call_1')] };
const PICTURE = { input: [user('u'), call('call_1'), output('call_1', [{ type: 'input_image', image_url: 'i' }])] };
const FOREIGN = { client_metadata: { a: 1 }, top_k: 3, vendor: [1.5] };

/* Qwen3 behind vLLM: thinking, two empty lines, a call. */
const EMPTY_LINES = stream(frames(
    chunk({ reasoning_content: 'Hm.' }), chunk({ content: '\n\n' }),
    chunk({ tool_calls: [{ index: 0, id: 'c', function: { name: 'a', arguments: '{}' } }] }), chunk({}, 'tool_calls'), '[DONE]'));

const ROWS = [
    { name: 'no flags', request: LIMITED, want: { max_tokens: 5, max_completion_tokens: undefined, stream_options: { include_usage: true } } },
    { name: 'token_field', flags: ['--token-field', 'max_completion_tokens'], request: LIMITED, want: { max_tokens: undefined, max_completion_tokens: 5 } },
    { name: 'token_field both', flags: ['--token-field', 'both'], request: LIMITED, want: { max_tokens: 5, max_completion_tokens: 5 } },
    { name: 'token_field of all models', flags: ['--model-settings', '* token_field=both'], request: LIMITED, want: { max_tokens: 5, max_completion_tokens: 5 } },
    {
        name: 'token_field of one of them', flags: ['--model-settings', '* token_field=both include_usage=off', '--model-settings', 'm token_field=max_tokens'],
        request: { ...LIMITED, model: 'm' }, want: { max_tokens: 5, max_completion_tokens: undefined, stream_options: undefined },
    },
    { name: 'instructions_role', flags: ['--instructions-role', 'developer'], request: { instructions: 'i' }, want: { messages: [{ role: 'developer', content: 'i' }, user('Hi')] } },
    { name: 'late_system_role', flags: ['--late-system-role', 'user'], request: { input: [user('u'), { role: 'system', content: 's' }] }, want: { messages: [user('u'), user('s')] } },
    { name: 'instructions_role user', flags: ['--instructions-role', 'user'], request: { instructions: 'i' }, want: { messages: [user('i\n\nHi')] } },
    { name: 'role_order', flags: ['--role-order', 'alternate'], request: { input: [user('u'), user('v')] }, want: { messages: [user('u\n\nv')] } },
    {
        name: 'role_order of a family', request: { model: 'mistralai/Mistral-Nemo-Instruct-2407', input: [user('u'), user('v')] },
        want: { messages: [user('u\n\nv')] },
    },
    {
        name: 'role_order any', flags: ['--role-order', 'any'], request: { model: 'mistralai/Mistral-Nemo-Instruct-2407', input: [user('u'), user('v')] },
        want: { messages: [user('u'), user('v')] },
    },
    {
        name: 'call_messages text', flags: ['--call-messages', 'text'], request: CALLED,
        look: ({ body }) => assert.deepEqual(body.messages.map(({ role, tool_calls }) => [role, tool_calls]),
            [['user', undefined], ['assistant', undefined], ['user', undefined]]),
    },
    { name: 'tool_descriptions', flags: ['--tool-descriptions', 'all'], request: TOOLS, look: ({ body }) => assert.equal(body.tools[0].function.description, '') },
    { name: 'tool_descriptions given', request: TOOLS, look: ({ body }) => assert.ok(!('description' in body.tools[0].function)) },
    {
        name: 'reasoning_field', flags: ['--reasoning-field', 'reasoning'],
        request: { input: [thought({ content: [{ type: 'reasoning_text', text: 't' }] }), { role: 'assistant', content: 'a' }, user('u')] },
        want: { messages: [{ role: 'assistant', content: 'a', reasoning: 't' }, user('u')] },
    },
    {
        name: 'reasoning_from_summary', flags: ['--reasoning-from-summary'],
        request: { input: [thought({ summary: [{ type: 'summary_text', text: 't' }] }), { role: 'assistant', content: 'a' }, user('u')] },
        want: { messages: [{ role: 'assistant', content: 'a', reasoning_content: 't' }, user('u')] },
    },
    {
        name: 'thinking_switch', flags: ['--thinking-switch'], request: { reasoning: { effort: 'none' }, chat_template_kwargs: { a: 1 } },
        want: { reasoning_effort: 'none', chat_template_kwargs: { a: 1, enable_thinking: false } },
    },
    {
        name: 'tool_choice_support strings', flags: ['--tool-choice-support', 'strings'], request: { ...TOOLS, tool_choice: tool('b') },
        look: ({ body }) => assert.deepEqual([body.tools.map((t) => t.function.name), body.tool_choice], [['b'], 'required']),
    },
    {
        name: 'tool_choice_support auto', flags: ['--tool-choice-support', 'auto'], request: { ...TOOLS, tool_choice: 'none' },
        want: { tools: undefined, tool_choice: undefined },
    },
    { name: 'include_usage', flags: ['--no-include-usage'], want: { stream: true, stream_options: undefined } },
    {
        name: 'call_ids', flags: ['--call-ids', 'short'], request: CALLED,
        look: ({ body }) => {
            const [, { tool_calls: [{ id }] }, { tool_call_id }] = body.messages;
            assert.match(id, /^[0-9A-Za-z]{9}$/);
            assert.equal(tool_call_id, id);
        },
    },
    { name: 'empty_content', flags: ['--empty-content', 'empty'], request: CALLED, look: ({ body }) => assert.equal(body.messages[1].content, '') },
    { name: 'empty_content absent', flags: ['--empty-content', 'absent'], request: CALLED, look: ({ body }) => assert.ok(!('content' in body.messages[1])) },
    {
        name: 'tool_images', flags: ['--tool-images', 'tool'], request: PICTURE,
        look: ({ body }) => assert.deepEqual(body.messages.slice(2), [{ role: 'tool', tool_call_id: 'call_1', content: [{ type: 'image_url', image_url: { url: 'i' } }] }]),
    },
    { name: 'text_files', flags: ['--text-files'], request: { input: [file('a.md', 'data:;base64,SMOpIQ==')] }, want: { messages: [user('Hé!')] } },
    { name: 'text_files that are no base64', flags: ['--text-files'], request: { input: [file('a.md', '%')] }, error: [400, 'invalid_value', 'input[0].content[0].file_data'] },
    {
        name: 'model_alias', flags: ['--model-alias', 'm=big,*=other'],
        look: ({ body, response }) => assert.deepEqual([body.model, response.model], ['big', 'm']),
    },
    { name: 'model_alias *', flags: ['--model-alias', 'n=big,*=other'], want: { model: 'other' } },
    { name: 'unknown_fields', request: FOREIGN, want: { client_metadata: undefined, vendor: undefined, top_k: 3 } },
    { name: 'unknown_fields reject', flags: ['--unknown-fields', 'reject'], request: FOREIGN, error: [400, 'unknown_parameter', 'client_metadata'] },
    { name: 'unknown_fields forward', flags: ['--unknown-fields', 'forward'], request: { ...FOREIGN, messages: [] }, want: { ...FOREIGN, messages: [user('Hi')] } },
    { name: 'pass_fields', flags: ['--pass-fields', 'vend*'], request: FOREIGN, want: { client_metadata: undefined, vendor: [1.5], top_k: undefined } },
    { name: 'unsupported_tools', flags: ['--unsupported-tools', 'reject'], request: { tools: [tool('a'), { type: 'web_search' }] }, error: [400, 'unsupported_parameter', 'tools[1].type'] },
    { name: 'unknown_items', flags: ['--unknown-items', 'ignore'], request: { input: [{ type: 'new' }, user('u')] }, want: { messages: [user('u')] } },
    {
        name: 'hold_leading_space', flags: ['--hold-leading-space'], request: TOOLS,
        answer: stream(frames(chunk({ content: '\n\n' }), chunk({ tool_calls: [{ index: 0, id: 'c', function: { name: 'a', arguments: '{}' } }] }), chunk({}, 'tool_calls'), '[DONE]')),
        look: ({ response }) => assert.deepEqual(response.output.map((item) => item.type), ['function_call']),
    },
    {
        name: 'hold_leading_space auto', request: TOOLS, answer: EMPTY_LINES,
        look: ({ response }) => assert.deepEqual(response.output.map((item) => item.type), ['reasoning', 'function_call']),
    },
    {
        name: 'hold_leading_space off', flags: ['--no-hold-leading-space'], request: TOOLS, answer: EMPTY_LINES,
        look: ({ response }) => assert.deepEqual(response.output.map((item) => item.type), ['reasoning', 'message', 'function_call']),
    },
];

for (const { name, flags = [], request = {}, answer, want = {}, error, look } of ROWS) {
    test(`${name}: ${flags.join(' ')}`, async (t) => {
        const { up, daemon } = await pair(t, ...flags);
        if (answer)
            up.always(answer);
        const got = await ask(daemon, { model: 'm', input: 'Hi', stream: error === undefined, ...request });
        if (error)
            return void (checkError(got, ...error), assert.equal(up.requests.length, 0));
        const { response } = checkStream(got.text);
        const { body } = await up.request(0);
        assert.equal(response.status, 'completed');
        for (const [key, value] of Object.entries(want))
            assert.deepEqual(body[key], value, key);
        look?.({ body, response });
    });
}
