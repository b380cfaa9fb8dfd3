/* doctor.test.mjs -- `antiphon doctor` in front of servers that do all that is asked, and of such that
 * misbehave as llama.cpp, vLLM, Ollama, LM Studio and others do: what it finds, and that the gateway goes
 * right with what it proposes where it went wrong without.
 *
 * What the servers say is as theirs: words of their refusals, tests/data/upstream_kinds. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { describe } from 'node:test';
import { ask } from '../lib/client.mjs';
import { ROOT, startDaemon } from '../lib/daemon.mjs';
import { doctor } from '../lib/doctor_command.mjs';
import { doctorServer, names, refused } from '../lib/doctor_server.mjs';
import { json, startUpstream } from '../lib/upstream.mjs';

const recorded = (name) => readFileSync(join(ROOT, 'tests/data/upstream_kinds', name), 'utf8');
const facts = new Set(); /* all that was found, for the last test */

/* The report on such a server: { status, settings, checks: { id: [status, ...] }, report, up }. */
async function visit(t, habits, { args = [], env } = {}) {
    const up = await startUpstream();
    t.after(() => up.close());
    up.probed = doctorServer(habits);
    const { status, stdout, stderr } = await doctor(t, ['--upstream', up.url, '--json', ...args], env);
    assert.equal(stderr, '');
    const report = JSON.parse(stdout);
    const checks = {};
    for (const check of report.checks) {
        (checks[check.id] ??= []).push(check.status);
        facts.add(check.fact);
    }
    return { status, settings: report.settings, checks, report, up };
}

const LINE = (...words) => ({ model_settings: ['tiny', ...words].join(' ') });
const MODEL = ['--model', 'tiny'];

describe('a good server', () => {
    test('has nothing to be set', async (t) => {
        const { status, settings, report, up } = await visit(t, { models: [{ id: 'tiny', max_model_len: 4096 }] }, { args: MODEL });
        assert.deepEqual([status, report.summary], [1, 'to set'], JSON.stringify(report));
        assert.deepEqual(settings, LINE('image_input=on'));
        const without = await visit(t, { models: [{ id: 'tiny', max_model_len: 4096 }], say: (body, a) => a.text === 'Red.' ? { text: 'I see nothing.' } : a }, { args: MODEL });
        assert.deepEqual([without.status, without.report.summary, without.settings], [0, 'good', {}], JSON.stringify(without.report));
        assert.ok(up.probes.filter(({ path }) => path.endsWith('completions')).length <= 25);
        for (const { body } of up.probes.filter(({ path }) => path.endsWith('completions')))
            assert.deepEqual([body.temperature, body.seed, (body.max_tokens ?? body.max_completion_tokens) <= 256], [0, 1, true]);
    });

    test('is asked less with --quick', async (t) => {
        const { checks, up } = await visit(t, {}, { args: [...MODEL, '--quick'] });
        assert.equal(checks.vision, undefined);
        assert.deepEqual(checks.tool, ['ok']);
        assert.ok(up.probes.filter(({ path }) => path.endsWith('completions')).length <= 8);
    });
});

describe('servers that misbehave', () => {
    const blind = (body, answer) => answer.text === 'Red.' ? { text: 'Blue.' } : answer;
    test('a server that knows no files', async (t) => {
        const habits = { refuse: ({ messages }) => messages.some((m) => m.content?.[1]?.type === 'file') && refused(400, 'unsupported content[].type'), say: blind };
        const { status, settings, checks } = await visit(t, habits, { args: MODEL });
        assert.deepEqual([status, checks.files, settings], [1, ['set'], { text_files: 'true' }]);
        const set = await visit(t, habits, { args: [...MODEL, '--text-files'] });
        assert.deepEqual([set.status, set.checks.files, set.settings], [0, ['ok'], {}]);
    });

    for (const [what, habits, found, words] of [
        ['llama.cpp without --jinja', { refuse: ({ tools }) => tools && refused(500, 'tools param requires --jinja flag'), headers: { server: 'llama.cpp' },
            paths: { '/props': json(200, recorded('llama_cpp_props.json')) }, say: blind }, { tool: ['bad'], tool_result: undefined, slots: ['ok'] }, []],
        ['vLLM without a parser of calls', { models: [{ id: 'tiny', owned_by: 'vllm', root: 'x', max_model_len: 4096 }],
            refuse: ({ tools, tool_choice }) => tools && !tool_choice && refused(400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set') }, { tool: ['bad'], arguments: undefined, window: ['ok'] }, null],
        ['calls that stay text', { say: (body, a) => a.calls && !body.tool_choice ? { text: `<tool_call>\n${JSON.stringify({ name: a.calls[0][0], arguments: a.calls[0][1] })}\n</tool_call>` } : blind(body, a) }, { tool: ['set'] }, ['text_calls=hermes']],
        ['Ollama, which ignores tool_choice', { models: [{ id: 'tiny', owned_by: 'library' }], paths: { '/api/version': json(200, { version: '0.12.3' }) },
            say: (body, a) => body.tool_choice ? { text: 'Hello.' } : blind(body, a) }, { tool_choice: ['ok'] }, []],
        ['LM Studio, which refuses an object as tool_choice', { missing: json(200, { error: 'Unexpected endpoint or method. (GET /props)' }), models: [{ id: 'tiny', owned_by: 'organization_owner' }],
            refuse: ({ tool_choice }) => tool_choice?.function && refused(400, "Invalid tool_choice type: 'object'. Supported string values: none, auto, required") }, { tool_choice: ['ok'] }, null],
        ['an unknown server that refuses it as well', { refuse: ({ tool_choice }) => tool_choice?.function && refused(400, 'Invalid tool_choice type'), say: blind }, { tool_choice: ['set'] }, ['tool_choice_support=strings']],
        ['a server without stream_options', { refuse: ({ stream_options }) => stream_options && refused(422, 'Extra inputs are not permitted'), say: blind }, { usage: ['set'], stream: ['ok'] }, ['include_usage=off']],
        ['a server that wants max_completion_tokens', { refuse: ({ max_tokens, messages }) => max_tokens === 8 && refused(400, "Unsupported parameter: 'max_tokens'"), say: blind }, { tokens: ['set'] }, ['token_field=max_completion_tokens']],
        ['a template of Mistral', { refuse: ({ messages }) => messages.some((m, i) => m.role === 'system' && i > 0 || m.role === 'user' && messages[i - 1]?.role === 'user') ? refused(400, 'Conversation roles must alternate user/assistant/user/assistant/...')
            : messages.some((m) => m.tool_call_id?.length > 9) && refused(400, 'Tool call IDs should be alphanumeric strings with length 9!'), say: blind }, { roles: ['set', 'set'], tool_result: ['set'] }, ['late_system_role=user', 'role_order=alternate', 'call_ids=short']],
        ['a template without a system message', { refuse: ({ messages }) => /system|developer/.test(messages.map((m) => m.role)) && refused(500, 'System role not supported'), say: blind }, { roles: ['set'] }, ['instructions_role=user']],
        ['a template that takes developer alone', { refuse: ({ messages }) => messages.some((m) => m.role === 'system') && refused(400, 'unknown role system'), say: blind }, { roles: ['set'] }, ['instructions_role=developer']],
        ['a server that wants content', { refuse: ({ messages }) => messages.some((m) => m.content === null && m.tool_calls?.length === 1) && refused(400, 'content: Input should be a valid string'), say: blind }, { tool_result: ['set'] }, ['empty_content=empty']],
        ['a template with one call a message', { refuse: ({ messages }) => messages.some((m) => m.tool_calls?.length > 1) && refused(500, 'This model only supports single tool-calls at once!'), say: blind }, { parallel: ['set'] }, ['call_messages=single']],
        ['thinking in tags', { say: (body, a) => a.text && !body.tools ? { text: `<think>\nHm.\n</think>\n\n${blind(body, a).text}` } : a }, { reasoning: ['set'], effort: ['ok'] }, ['think_tags=on']],
        ['thinking whose tag the template opens', { say: (body, a) => a.text && !body.tools ? { text: `Hm.\n</think>\n\n${blind(body, a).text}` } : a }, { reasoning: ['set'] }, ['think_tags=inside']],
        ['thinking that can be switched off', { say: (body, a) => a.text && !body.tools && !body.chat_template_kwargs ? { ...blind(body, a), reasoning: 'Hm.' } : a }, { reasoning: ['ok'], effort: ['set'] }, ['thinking_switch=on']],
        ['thinking that is not taken back', { field: 'reasoning', say: (body, a) => ({ ...blind(body, a), ...(a.text && { reasoning: 'Hm.' }) }), refuse: ({ messages }) => messages.some((m) => m.reasoning_content) && refused(400, "property 'reasoning_content' is unsupported") }, { reasoning: ['ok', 'set'] }, ['reasoning_field=none']],
        ['Harmony as the model wrote it', { say: (body, a) => a.text ? { text: `<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>${blind(body, a).text}` } : { text: '<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city":"Paris"}<|call|>' } }, { tool: ['set'], reasoning: ['set'] }, ['harmony=harmony-chat', 'tool_choice_support=auto']],
    ]) {
        test(what, async (t) => {
            const { status, settings, checks, report } = await visit(t, habits, { args: MODEL });
            for (const [id, statuses] of Object.entries(found))
                assert.deepEqual(checks[id], statuses, `${id}: ${JSON.stringify(report.checks.filter((c) => c.id === id))}`);
            if (words !== null)
                assert.deepEqual(settings, words.length > 0 ? LINE(...words) : {});
            assert.equal(status, report.checks.some((c) => c.status === 'set' || c.status === 'bad') ? 1 : 0);
        });
    }

    test('are set right by what is proposed', async (t) => {
        const habits = { refuse: ({ tool_choice, stream_options }) => (tool_choice?.function || stream_options) && refused(400, 'no') };
        const { settings, up } = await visit(t, habits, { args: MODEL });
        const play = doctorServer(habits);
        up.always((request) => play({ path: request.path, body: request.body }));
        const tool = (name) => ({ type: 'function', name, parameters: {} });
        const request = { model: 'tiny', input: 'What time is it in Paris?', tools: [tool('get_weather'), tool('get_time')], tool_choice: tool('get_time'), stream: true };
        const daemon = async (...args) => {
            const d = await startDaemon({ upstream: up.url, args: ['--upstream-probe-timeout', '0', ...args] });
            t.after(() => d.stop());
            return d;
        };
        const before = await ask(await daemon(), request);
        assert.equal(before.status, 400, before.text);
        const after = await ask(await daemon('--model-settings', settings.model_settings), request);
        assert.equal(after.status, 200, after.text);
        assert.match(after.text, /response\.completed/);
        assert.deepEqual(names(up.requests.at(-1).body.tools), ['get_time']);
    });
});

describe('what nobody can set', () => {
    for (const [what, habits, found, wantedStatus] of [
        ['a stream without [DONE]', { done: false }, { stream: ['ok'] }, 1],
        ['a stream that counts nothing', { counts: false }, { usage: ['ok'] }, 1],
        ['an empty answer', { say: () => ({ text: '' }) }, { stream: ['bad'] }, 2],
        ['a server that refuses everything', { refuse: () => refused(500, 'CUDA out of memory') }, { stream: ['bad'] }, 2],
        ['a model that calls nothing', { say: () => ({ text: 'Hello.' }) }, { tool: ['bad'], schema: ['bad'] }, 1],
        ['arguments that are no JSON', { say: (body, a) => names(body.tools).includes('save') ? { calls: [['save', '{"path": "a", "file": {"code": "x']] } : a }, { arguments: ['bad'] }, 1],
        ['an output that is not read', { say: (body, a) => body.messages.at(-1).role === 'tool' ? { calls: [['get_weather', {}]] } : a }, { tool_result: ['bad'] }, 1],
        ['no limit of the answer', { say: (body, a) => a.finish === 'length' ? { text: 'one '.repeat(100) } : a, paths: {} }, { tokens: ['ok'] }, 1], /* five tokens, it says */
        ['no list of models', { models: [] }, { models: ['bad'] }, 2],
        ['a page instead of an API', { models: { status: 200, headers: { 'content-type': 'text/html' }, pieces: ['<html>'] } }, { reach: ['bad'] }, 2],
    ]) {
        test(what, async (t) => {
            const { status, checks, report } = await visit(t, habits, { args: what === 'no list of models' ? [] : MODEL });
            for (const [id, statuses] of Object.entries(found))
                assert.deepEqual(checks[id], statuses, JSON.stringify(report));
            assert.equal(status, wantedStatus, JSON.stringify(report));
        });
    }
});

describe('reaching it', () => {
    test('nobody is there', async (t) => {
        const { status, stdout } = await doctor(t, ['--upstream', 'http://127.0.0.1:1', '--json']);
        assert.equal(status, 3);
        const { summary, checks } = JSON.parse(stdout);
        assert.deepEqual([summary, checks.length, checks[0].status], ['unreachable', 1, 'bad']);
        facts.add(checks[0].fact);
    });

    test('a key is refused, and not shown', async (t) => {
        const { status, checks, report } = await visit(t, { models: json(401, { error: { message: 'wrong key: secret-key' } }) }, { env: { ANTIPHON_UPSTREAM_KEY: 'secret-key' } });
        assert.deepEqual([status, checks.auth, report.settings], [2, ['bad'], { upstream_key: 'KEY' }]);
        assert.ok(!JSON.stringify(report).includes('secret-key'));
        const later = await visit(t, { refuse: () => refused(401, 'wrong key: secret-key') }, { args: MODEL, env: { ANTIPHON_UPSTREAM_KEY: 'secret-key' } });
        assert.deepEqual([later.status, later.checks.stream], [2, ['bad']]);
        assert.ok(!JSON.stringify(later.report).includes('secret-key'));
    });

    test('the API is at another path', async (t) => {
        const up = await startUpstream();
        t.after(() => up.close());
        const play = doctorServer();
        up.probed = (request) => request.path.startsWith('/api/v1/') ? play({ ...request, path: request.path.slice(4) }) : json(404, {});
        const { status, stdout } = await doctor(t, ['--upstream', `${up.origin}/api`, '--json']);
        assert.equal(status, 1);
        const { settings, checks } = JSON.parse(stdout);
        assert.deepEqual(settings, { upstream: `${up.origin}/api/v1` });
        facts.add(checks[0].fact);
    });

    test('the model is the only one, the configured one, or one that is not there', async (t) => {
        assert.equal((await visit(t, {})).settings.model, 'tiny');
        assert.equal((await visit(t, { models: ['one', 'two'] })).report.model, 'one');
        assert.equal((await visit(t, { models: ['one', 'two'] }, { args: ['--model', 'mine', '--model-alias', 'mine=two'] })).report.model, 'two');
        const gone = await visit(t, {}, { args: ['--model', 'gone'] });
        assert.deepEqual([gone.status, gone.checks.models], [1, ['bad']]);
    });
});

test('every finding about server and model was made', () => {
    const table = readFileSync(join(ROOT, 'src/cli/doctor_finding.def'), 'utf8');
    const rows = [...table.matchAll(/^FINDING\(\w+, (REACH|AUTH|MODELS|WINDOW), \w+, "[^"]*",\s+"([^"]*)"/gm)].map(([, , says]) => says);
    assert.ok(rows.length > 10);
    const guess = 'tokens that fit at most:'; /* what a model could have that is not loaded: test_upstream_window */
    assert.deepEqual(rows.filter((says) => says !== guess && ![...facts].some((fact) => fact.startsWith(says))), []);
});
