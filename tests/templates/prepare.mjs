/* prepare.mjs -- what servers do to the messages of a Chat request before a template renders them.
 *
 * A template sees no Chat request: its server reads that, and hands on messages in the form that this
 * template seems to take. What a server refuses already here is refused for good as well.
 *
 *   llama.cpp   common/chat.cpp: arguments are parsed, and what does not parse is HTTP 500 "Failed to
 *               parse tool call arguments"; a template that wants them as text gets that; text parts are joined, unless the template takes parts
 *               only; beside calls no content is null, unless the template cannot take that; a tool
 *               always has a description and parameters
 *   vLLM        vllm/entrypoints/chat_utils.py: arguments are parsed; content becomes a list where the
 *               template loops over it ("openai"), else a string; null is no content
 *   SGLang      python/sglang/srt/entrypoints/openai/serving_chat.py: the same, but a string stays
 *               one; null is ""
 */

const PROBE = 'needle in the content';

/* Arguments as templates want them. */
function parseArguments(call) {
    const args = JSON.parse(call.function.arguments);
    if (args === null || typeof args !== 'object' || Array.isArray(args))
        throw new Error(`Failed to parse tool call arguments as JSON: ${call.function.arguments}`);
    return { ...call, function: { ...call.function, arguments: args } };
}

const withCalls = (message) => message.tool_calls === undefined ? message
    : { ...message, tool_calls: message.tool_calls.map(parseArguments) };

const textOf = (content, separator) => typeof content === 'string' ? content
    : content.filter((part) => part.type === 'text').map((part) => part.text).join(separator);

const partsOf = (content) => typeof content === 'string' ? [{ type: 'text', text: content }] : content;

/* Does the template show a user's text when the content is this? */
function shows(render, content) {
    try {
        return render({ messages: [{ role: 'user', content }] }).includes(PROBE);
    } catch {
        return false;
    }
}

const renders = (render, ...answers) => {
    try {
        for (const answer of answers)
            render({ messages: [{ role: 'user', content: PROBE }, { role: 'assistant', ...answer }] });
        return true;
    } catch {
        return false;
    }
};

const callWith = (args) => [{ id: 'call00001', type: 'function', function: { name: 'f', arguments: args } }];

/* Does it take an answer without text? */
const takesNull = (render) => renders(render, { content: null }, { content: null, tool_calls: callWith({}) });

const takesArguments = (render, args) =>
    renders(render, { content: '', tool_calls: callWith(args) }) || renders(render, { content: null, tool_calls: callWith(args) });

/* vLLM looks at the program, not at what it does. */
const LOOPS_OVER_CONTENT = /for\s+\w+\s+in\s+(\w+(\.content|\[['"]content['"]\])|content)\b/;

const onlyDefined = (object) => Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));

/* Pydantic's model of a function has a member for all that there may be. */
const fullTool = (tool) => ({ ...tool, function: { description: null, parameters: null, ...tool.function } });

/* name -> (template's text, its render function) -> what is sent -> variables of the template */
export const SERVERS = {
    'llama.cpp': (text, render) => {
        const wantsParts = !shows(render, PROBE) && shows(render, [{ type: 'text', text: PROBE }]);
        const wantsText = !takesArguments(render, {}) && takesArguments(render, '{}');
        const nothing = takesNull(render) ? null : '';
        const prepare = (message) => {
            const { content = null } = message;
            const parsed = withCalls(message);
            const calls = wantsText ? message : parsed;
            if (content === null)
                return { ...calls, content: message.tool_calls ? nothing : '' };
            return { ...calls, content: wantsParts ? partsOf(content) : textOf(content, '\n') };
        };
        return ({ messages, tools }) => onlyDefined({
            messages: messages.map(prepare),
            tools: tools?.map((tool) => ({ ...tool, function: { description: '', parameters: {}, ...tool.function } })),
        });
    },
    vLLM: (text) => {
        const wantsParts = LOOPS_OVER_CONTENT.test(text);
        const prepare = (message) => {
            const content = message.content ?? '';
            return { ...withCalls(message), content: wantsParts ? (content === '' ? [] : partsOf(content)) : textOf(content, '\n') };
        };
        return ({ messages, tools }) => onlyDefined({ messages: messages.map(prepare), tools: tools?.map(fullTool) });
    },
    SGLang: (text) => {
        const wantsParts = LOOPS_OVER_CONTENT.test(text);
        const prepare = (message) => {
            const content = message.content ?? '';
            return { ...withCalls(message), content: wantsParts ? content : textOf(content, ' ') };
        };
        return ({ messages, tools }) => onlyDefined({ messages: messages.map(prepare), tools: tools?.map(fullTool) });
    },
};
