import { playSituations } from "../support/play-situations.ts";
import { claudeSituations } from "./activity/claude-situations.ts";
import { codexSituations } from "./activity/codex-situations.ts";

playSituations({ "claude-code": claudeSituations, codex: codexSituations });
