import { playSituations } from "../support/play-situations.ts";
import { claudeTerminalSituations } from "./activity/claude-terminal-situations.ts";
import { codexTerminalSituations } from "./activity/codex-terminal-situations.ts";

playSituations({ "claude-code": claudeTerminalSituations, codex: codexTerminalSituations });
