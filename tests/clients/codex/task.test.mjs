/* task.test.mjs -- the Codex CLI finishes tasks with a scripted model and with hosted tools. */
import { testTasks } from '../task.mjs';
import { Desk } from './codex.mjs';

testTasks('codex', Desk);
