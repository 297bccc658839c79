/* The part of Skipstone's C API that holds conversations: messages to tokens by a model's chat template, and a model's answer to text,
 * reasoning and tool calls. docs/chat.md says what templates may do.
 *
 * JSON comes in as UTF-8 text, in the form of OpenAI's chat completions:
 * - messages: [{"role": "system" | "developer" | "user" | "assistant" | "tool", "content": text or [{"type": "text", "text"}], of an
 *   assistant also null (parts may be of the types "input_text", "output_text" and "refusal" too),
 *   "name"?, "reasoning_content"?, "tool_calls"?: [{"id", "type": "function", "function": {"name", "arguments": JSON text or object}}],
 *   "tool_call_id"?}]
 * - tools: [{"type": "function", "function": {"name", "description"?, "parameters"?}}]
 * - options: an object. "add_generation_prompt" (true), "continue_final_message" (false) and "now" ("2025-07-04T09:08:07", which
 *   strftime_now sees; the clock's time where it is missing) are the library's; every other key, such as "enable_thinking",
 *   "reasoning_effort" or "documents", is a variable of the template. "reasoning_effort": "none" also makes "enable_thinking" and
 *   "thinking" false where they are not given; where these are false, a reasoning that the template opens nevertheless is closed.
 *   "add_generation_prompt" and "continue_final_message" cannot both be given as true.
 * The text of a message, a tool or an option is data: it never becomes a special token, whatever it spells.
 * SKIPSTONE_INVALID_ARGUMENT for JSON of any other form, with the place: "messages[2].tool_call_id: ...". */
#ifndef SKIPSTONE_CHAT_H
#define SKIPSTONE_CHAT_H

#include "skipstone/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- a template alone --------------------------------------------------------------------------------------------------- */

typedef struct skipstone_template_params {
  size_t struct_size;
  const char* source;    /* Jinja, as transformers' apply_chat_template() understands it */
  size_t source_bytes;   /* 0: up to its NUL */
  const char* variables; /* a JSON object: all that the template sees; NULL: nothing */
  size_t variables_bytes;
  const char* now;                /* "2025-07-04T09:08:07": what strftime_now() sees; NULL: the clock's time */
  int32_t continue_final_message; /* 1: the text ends where the content of the last of the variable `messages` ends */
  skipstone_progress_fn progress; /* as for skipstone_tokenize_polled() */
  void* user_data;
} skipstone_template_params;

SKIPSTONE_API void skipstone_template_params_init(skipstone_template_params* params, size_t struct_size);

/* Renders a template. `bytes` (may be NULL) gets the text's size. SKIPSTONE_INVALID_ARGUMENT, with line and column, for a template that
 * cannot be parsed, that raises or uses something undefined, or that takes more steps, depth or memory than any chat needs. */
SKIPSTONE_API skipstone_status skipstone_template_render(const skipstone_template_params* params, char** text, size_t* bytes);

/* ---- chat: a model's template and its tokens ---------------------------------------------------------------------------- */

/* Immutable; may be shared by threads. Keeps what it needs of the engine. */
typedef struct skipstone_chat skipstone_chat;

typedef struct skipstone_chat_params {
  size_t struct_size;
  /* NULL or "": the model's own; where it has none, the one that its special tokens suggest, and "plain" for base models. Or one of
   * skipstone_chat_templates(), or "model:NAME" for one that the model has beside its own, or Jinja text: whatever holds "{{" or "{%". */
  const char* chat_template;
  const char* pre_tokenizer; /* for skipstone_chat_open(), as in skipstone_engine_params; an engine has its own */
} skipstone_chat_params;

SKIPSTONE_API void skipstone_chat_params_init(skipstone_chat_params* params, size_t struct_size);

/* The built-in templates, separated by ", ": "chatml, llama3, ...". */
SKIPSTONE_API const char* skipstone_chat_templates(void);

/* SKIPSTONE_BAD_FILE where the model's own template cannot be parsed, SKIPSTONE_UNSUPPORTED where the model has no tokenizer. */
SKIPSTONE_API skipstone_status skipstone_chat_create(const skipstone_engine* engine, const skipstone_chat_params* params, skipstone_chat** chat);

/* The same from the model file alone, without a device. */
SKIPSTONE_API skipstone_status skipstone_chat_open(const char* model_path, const skipstone_chat_params* params, skipstone_chat** chat);

/* NULL is fine. */
SKIPSTONE_API void skipstone_chat_free(skipstone_chat* chat);

typedef enum skipstone_chat_source {
  SKIPSTONE_CHAT_MODEL = 0,      /* the model file's */
  SKIPSTONE_CHAT_NAMED = 1,      /* built in, asked for by its name */
  SKIPSTONE_CHAT_GIVEN = 2,      /* Jinja text of the caller's */
  SKIPSTONE_CHAT_VOCABULARY = 3, /* built in, chosen by the vocabulary's special tokens */
  SKIPSTONE_CHAT_PLAIN = 4       /* a base model: a transcript in plain words */
} skipstone_chat_source;

/* Strings and arrays live as long as the chat. */
typedef struct skipstone_chat_info {
  size_t struct_size;      /* set by the caller: sizeof(skipstone_chat_info) */
  const char* name;        /* "chatml"; "model" or "model:NAME" for the model's; "given" */
  const char* source_text; /* the Jinja text */
  int32_t source;          /* skipstone_chat_source */
  int32_t system_messages; /* 1: the template writes them; 0: they are put in front of the first user message */
  int32_t tools;           /* 1: the template writes the tools' definitions; 0: a system message describes them in a generic form */
  int32_t tool_calls;      /* 1: the template writes the calls of earlier answers; 0: not all. Calls that it drops go into the answers' texts */
  int32_t reasoning;       /* 1: the template knows reasoning ("enable_thinking", "reasoning_content", <think>) */
  int32_t text_parts;      /* 1: the template takes lists of parts; 0: they are joined beforehand */
  const skipstone_token* end_tokens; /* that end a turn */
  size_t end_token_count;
  const char* const* stop_strings; /* texts that end a turn and are no tokens, for skipstone_session_set_stop() */
  size_t stop_string_count;
  const char* tool_use_text; /* the Jinja text of the model's template "tool_use", which conversations with tools get; NULL: none */
} skipstone_chat_info;

SKIPSTONE_API skipstone_status skipstone_chat_get_info(const skipstone_chat* chat, skipstone_chat_info* info);

/* A conversation's tokens, as the model is to read them (with BOS where the model wants one, once). `tools` and `options` may be NULL.
 * `*tokens` belongs to the caller: skipstone_tokens_free(). */
SKIPSTONE_API skipstone_status skipstone_chat_render(const skipstone_chat* chat, const char* messages, const char* tools, const char* options,
                                                     skipstone_token** tokens, size_t* count);

/* The same as a document: {"template": name, "text": what the template wrote, "tokens": [ids], "pieces": [{"text", "origin": "template" or
 * "data", "token"?: id, of special tokens}]}. The pieces' texts joined are the text, with the BOS that the tokenizer adds in front. */
SKIPSTONE_API skipstone_status skipstone_chat_show(const skipstone_chat* chat, const char* messages, const char* tools, const char* options,
                                                   char** json);

/* The same; `progress` as for skipstone_tokenize_polled(). */
SKIPSTONE_API skipstone_status skipstone_chat_render_polled(const skipstone_chat* chat, const char* messages, const char* tools,
                                                            const char* options, skipstone_progress_fn progress, void* user_data,
                                                            skipstone_token** tokens, size_t* count);
SKIPSTONE_API skipstone_status skipstone_chat_show_polled(const skipstone_chat* chat, const char* messages, const char* tools,
                                                          const char* options, skipstone_progress_fn progress, void* user_data, char** json);

/* ---- answers ------------------------------------------------------------------------------------------------------------ */

/* Takes an answer apart while it is generated. Used by one thread at a time. */
typedef struct skipstone_chat_parser skipstone_chat_parser;

typedef enum skipstone_chat_event_kind {
  SKIPSTONE_CHAT_TEXT = 0,
  SKIPSTONE_CHAT_REASONING = 1,
  SKIPSTONE_CHAT_TOOL_CALL_BEGIN = 2,     /* name and id are known */
  SKIPSTONE_CHAT_TOOL_CALL_ARGUMENTS = 3, /* text: JSON; joined over the call's events, an object */
  SKIPSTONE_CHAT_TOOL_CALL_END = 4,
  SKIPSTONE_CHAT_MARKER = 5 /* the format's own text, such as a closing tag; says nothing by itself */
} skipstone_chat_event_kind;

typedef struct skipstone_chat_event {
  size_t struct_size; /* set by the library */
  int32_t kind;       /* skipstone_chat_event_kind */
  int32_t call;       /* which tool call of the answer, from 0; -1 outside one */
  const char* text;   /* NUL-terminated, as all of them; "" where an event has none */
  size_t bytes;
  const char* name; /* of the tool */
  const char* id;   /* of the call, made up where the format has none */
  const char* raw;  /* the part of the answer that the event represents: joined over all events it is the answer */
  size_t raw_bytes;
  const char* note; /* why text that looked like a call is none, or what was not closed; "" mostly */
  int32_t complete; /* of tool_call_end: 0 where arguments that were already given broke off, so that the call is void */
} skipstone_chat_event;

/* Non-zero stops: the call fails with SKIPSTONE_CANCELLED. */
typedef int (*skipstone_chat_event_fn)(const skipstone_chat_event* event, void* user_data);

/* `options` (may be NULL) is JSON: {"tools": as for rendering, "prompt": the end of the rendered prompt (a template may have opened the
 * reasoning in it), "reasoning": false to leave it in the text, "tool_calls": false likewise, "stream_arguments": true to be given
 * arguments before it is known whether they end well (else damage whose meaning is certain, such as a line end in a string, is repaired),
 * "format": the name of an answer's format instead of the one that the template's text asks for, "id_seed": a number that made-up ids depend
 * on, "used_ids": [the ids of the conversation's calls], so that the answer's calls have others, "stop": [texts]: the answer ends in front of
 * the first of them, and what is pushed later is not read; they do not count in the reasoning}. */
SKIPSTONE_API skipstone_status skipstone_chat_parser_create(const skipstone_chat* chat, const char* options, skipstone_chat_parser** parser);

/* NULL is fine. In a callback of one of its calls, the parser is freed when that call returns. */
SKIPSTONE_API void skipstone_chat_parser_free(skipstone_chat_parser* parser);

/* The next token of the answer, which may be one that ends the turn. */
SKIPSTONE_API skipstone_status skipstone_chat_parser_push(skipstone_chat_parser* parser, skipstone_token token, skipstone_chat_event_fn event,
                                                          void* user_data);

/* The next piece of the answer's text, special tokens written out. */
SKIPSTONE_API skipstone_status skipstone_chat_parser_push_text(skipstone_chat_parser* parser, const char* text, size_t bytes,
                                                               skipstone_chat_event_fn event, void* user_data);

/* The text of "stop" that has ended the answer; "" while none has. It lives as long as the parser. */
SKIPSTONE_API const char* skipstone_chat_parser_stop_text(const skipstone_chat_parser* parser);

/* The answer is over. Text that was held back is delivered, as plain text where it became nothing else. */
SKIPSTONE_API skipstone_status skipstone_chat_parser_finish(skipstone_chat_parser* parser, skipstone_chat_event_fn event, void* user_data);

#ifdef __cplusplus
}
#endif

#endif
