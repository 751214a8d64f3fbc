export { type ChatFace, openChatFace } from "./chat-face.ts";
export type { ChatDeps } from "./ports.ts";
export { createTelegram, type TelegramOptions } from "./telegram/telegram.ts";
