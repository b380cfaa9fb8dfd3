/* loops.test.mjs -- agent loops of libraries finish tasks with a scripted model and with hosted tools. */
import { testTasks } from '../task.mjs';
import { Agents, AiStateless, AiStored, LangGraph, Mastra } from './loops.mjs';

testTasks('ai', AiStored);
testTasks('ai, stateless', AiStateless);
testTasks('langgraph', LangGraph);
testTasks('mastra', Mastra);
testTasks('agents', Agents);
