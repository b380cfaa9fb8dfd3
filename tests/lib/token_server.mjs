/* token_server.mjs -- an upstream that counts tokens in the ways of CONTRACT 14.
 *
 *     up.always(tokenServer(['tokenize', 'completion']));          // the ways it knows; all others are 404
 *     up.always(tokenServer(['tokenize'], { says: { tokenize: () => failure(500, 'no') } }));
 *
 * `window` is what tokenize says that fits. Four bytes of messages and tools are a token here, and so many an image; what a template makes of
 * them is their JSON. Whichever way it is asked, and in its usage, it says the same.
 */
import { chunk, completionChunk, completionUsage, frames, json, stream, usageChunk } from './upstream.mjs';

export const TOKENS_OF_AN_IMAGE = 1000;

const withoutImages = (key, value) => (key === 'image_url' ? '' : value);
const rendered = ({ messages, tools = [], chat_template_kwargs, reasoning_effort }) =>
    JSON.stringify([messages, tools, { reasoning_effort, ...chat_template_kwargs }], withoutImages);
const tokensOfText = (text) => Math.max(1, Math.ceil(Buffer.byteLength(text) / 4));

/* Of the body of a chat completion, or of a completion. */
export function tokensOfRequest(body) {
    if (body.prompt !== undefined)
        return tokensOfText(body.prompt);
    return tokensOfText(rendered(body)) + TOKENS_OF_AN_IMAGE * (JSON.stringify(body.messages).match(/"image_url":\{/g) ?? []).length;
}

const listed = (n) => Array.from({ length: n }, (_, i) => i);

/* What each way answers, by its path. */
const ANSWERS = {
    input_tokens: {
        '/v1/chat/completions/input_tokens': (body) => json(200, { input_tokens: tokensOfRequest(body), object: 'response.input_tokens' }),
    },
    apply_template: {
        '/apply-template': (body) => json(200, { prompt: rendered(body) }),
        '/tokenize': ({ content, add_special, parse_special }) => content === undefined || !add_special || !parse_special
            ? json(400, { error: { code: 400, message: '"content" is missing', type: 'invalid_request_error' } })
            : json(200, { tokens: listed(tokensOfText(content)) }),
    },
    tokenize: {
        '/tokenize': (body, window) => body.messages === undefined && body.prompt === undefined
            ? json(400, { object: 'error', message: 'Field required', type: 'BadRequestError', code: 400 })
            : json(200, { count: tokensOfRequest(body), max_model_len: window, tokens: listed(tokensOfRequest(body)), token_strs: null }),
    },
    completion: {},
};

const sayOne = (body) => json(200, { object: 'chat.completion', choices: [{ index: 0, finish_reason: 'length',
    message: { role: 'assistant', content: 'H' } }], usage: { prompt_tokens: tokensOfRequest(body), completion_tokens: 1 } });

function complete({ body, path }) {
    if (!body.stream)
        return sayOne(body);
    if (path === '/v1/completions')
        return stream(frames(completionChunk('<|channel|>final<|message|>Hi<|return|>'), completionChunk('', 'stop'),
            completionUsage(tokensOfRequest(body), 1), '[DONE]'));
    return stream(frames(chunk({ content: 'Hi' }), chunk({}, 'stop'), usageChunk(tokensOfRequest(body), 1), '[DONE]'));
}

export const tokenServer = (ways, { says = {}, window = 1_000_000 } = {}) => (request) => {
    const way = ways.find((one) => ANSWERS[one][request.path] !== undefined);
    if (way !== undefined)
        return says[way]?.(request) || ANSWERS[way][request.path](request.body, window);
    if (!/^\/v1\/(chat\/)?completions$/.test(request.path))
        return json(404, { detail: 'Not Found' });
    return (!request.body.stream && says.completion?.(request)) || complete(request);
};
