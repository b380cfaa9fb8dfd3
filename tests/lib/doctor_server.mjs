/* doctor_server.mjs -- a server for `antiphon doctor`: it does all that it is asked, but for its habits.
 *
 *     up.probed = doctorServer({ refuse: ({ tools }) => tools && failure(500, '...') });
 *
 * models: what GET /v1/models has, or an answer. paths: answers to other paths. say(body, answer): what
 * the model says in the place of { text, reasoning, calls, finish }. refuse(body): an answer in place of
 * all. render: how reasoning is said, a function of the answer. cached: tokens of a repeated prompt. */
import { chunk, failure, frames, json, stream } from './upstream.mjs';

const WEATHER = ['get_weather', { city: 'Paris' }];
const SAVE = ['save', { path: 'hello.py', file: { code: 'print("He said \\"hi\\"")\nprint()', tags: ['a', 'b'] } }];

export const names = (tools) => tools?.map((t) => t.function.name) ?? [];
const limitOf = (body) => body.max_tokens ?? body.max_completion_tokens;

/* What a good model says. */
function wanted(body) {
    const { messages, tools, tool_choice, response_format } = body;
    const last = messages.at(-1);
    if (limitOf(body) === 8)
        return { text: 'One, two, three, four', finish: 'length' };
    if (last.role === 'tool')
        return { text: 'Hailstones are falling.' };
    if (response_format)
        return { text: '{"city":"Rome","people":3}' };
    if (tool_choice?.function)
        return { calls: [[tool_choice.function.name, { city: 'Paris' }]] };
    if (names(tools).includes('save'))
        return { calls: [SAVE] };
    if (tools)
        return { calls: [WEATHER] };
    if (Array.isArray(last.content))
        return { text: last.content[1].type === 'file' ? 'Zebra.' : 'Red.' };
    return { text: 'Hello to you, my friend.' };
}

const finishOf = ({ finish, calls }) => finish ?? (calls ? 'tool_calls' : 'stop');

const callsOf = (calls) => calls?.map(([name, args], index) => ({ index, id: `call_${index}`, type: 'function', function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args) } }));

function usageOf(body, cached) {
    const prompt_tokens = Math.ceil(JSON.stringify(body.messages).length / 4);
    return { prompt_tokens, completion_tokens: 5, total_tokens: prompt_tokens + 5, prompt_tokens_details: { cached_tokens: cached } };
}

function message(answer, field) {
    return { role: 'assistant', content: answer.text ?? null, ...(answer.reasoning && { [field]: answer.reasoning }), ...(answer.calls && { tool_calls: callsOf(answer.calls) }) };
}

function answerWith(body, answer, { field, done, counts }, cached) {
    const usage = usageOf(body, cached);
    const said = message(answer, field);
    if (!body.stream)
        return json(200, { id: 'c', object: 'chat.completion', model: body.model, choices: [{ index: 0, message: said, finish_reason: finishOf(answer) }], usage });
    const counted = body.stream_options?.include_usage && counts ? [{ ...chunk({}), choices: [], usage }] : [];
    return stream(frames(chunk(said), chunk({}, finishOf(answer)), ...counted, ...(done ? ['[DONE]'] : [])));
}

export function doctorServer({ models = ['tiny'], paths = {}, missing = json(404, {}), headers = {}, say = (_, answer) => answer, refuse = () => undefined, field = 'reasoning_content', done = true, counts = true, cached = 0.9 } = {}) {
    const seen = new Set();
    const list = Array.isArray(models) ? json(200, { object: 'list', data: models.map((m) => (typeof m === 'string' ? { id: m, object: 'model' } : m)) }) : models;
    const answer = ({ path, body }) => {
        if (path === '/v1/models')
            return list;
        if (path !== '/v1/chat/completions')
            return paths[path] ?? missing;
        const refused = refuse(body);
        if (refused)
            return refused;
        const prompt = JSON.stringify(body.messages);
        const again = seen.has(prompt);
        seen.add(prompt);
        return answerWith(body, say(body, wanted(body)), { field, done, counts }, again ? Math.floor(usageOf(body, 0).prompt_tokens * cached) : 0);
    };
    return (request) => {
        const said = answer(request);
        return { ...said, headers: { ...said.headers, ...headers } };
    };
}

export const refused = (status, message) => failure(status, message);
