/* The part of Skipstone's C API that says which texts fit a grammar, a JSON Schema or a regular expression, and which tokens may come next.
 * docs/grammar.md has what is supported. Needs no device and no model. */
#ifndef SKIPSTONE_GRAMMAR_H
#define SKIPSTONE_GRAMMAR_H

#include "skipstone/chat.h"
#include "skipstone/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- grammars ----------------------------------------------------------------------------------------------------------- */

/* Immutable but for its caches; may be shared by threads. */
typedef struct skipstone_grammar skipstone_grammar;

typedef enum skipstone_grammar_kind {
  SKIPSTONE_GRAMMAR_GBNF = 0,        /* llama.cpp's notation */
  SKIPSTONE_GRAMMAR_JSON_SCHEMA = 1, /* draft 2020-12 */
  SKIPSTONE_GRAMMAR_REGEX = 2,       /* the whole text has to fit */
  SKIPSTONE_GRAMMAR_JSON_OBJECT = 3  /* any JSON object; `text` is not read */
} skipstone_grammar_kind;

typedef struct skipstone_grammar_params {
  size_t struct_size;
  int32_t kind; /* skipstone_grammar_kind */
  const char* text;
  size_t text_bytes; /* 0: up to its NUL */
  /* Of JSON. 0: the texts that a model is to write, one way for each value. 1: all of JSON's ways, with white space, escapes and members in any
   * order, to check texts that others wrote. */
  int32_t any_form;
} skipstone_grammar_params;

SKIPSTONE_API void skipstone_grammar_params_init(skipstone_grammar_params* params, size_t struct_size);

/* SKIPSTONE_INVALID_ARGUMENT for text that is none of the kind, with line and column or the JSON pointer, and for what no text fits;
 * SKIPSTONE_UNSUPPORTED for a schema's keywords that are not enforced. */
SKIPSTONE_API skipstone_status skipstone_grammar_create(const skipstone_grammar_params* params, skipstone_grammar** grammar);

/* NULL is fine. States and masks keep what they need of it. */
SKIPSTONE_API void skipstone_grammar_free(skipstone_grammar* grammar);

/* The grammar of a model's whole answers, for skipstone_session_params: what the chat's template has around a text of `grammar`, and in front of
 * it the reasoning, where the template knows one, which may be left out unless `prompt_end`, the end of the rendered prompt (or NULL), has
 * begun it. Tokens of the template's own that are part of it are allowed there. */
SKIPSTONE_API skipstone_status skipstone_chat_grammar(const skipstone_chat* chat, const skipstone_grammar* grammar, const char* prompt_end,
                                                      skipstone_grammar** answer);

/* The grammar as GBNF. SKIPSTONE_INVALID_ARGUMENT for objects with members in any order (any_form), which GBNF cannot express. */
SKIPSTONE_API skipstone_status skipstone_grammar_to_gbnf(const skipstone_grammar* grammar, char** text);

/* The keywords of JSON Schema that a schema may have: [{"name", "treatment": "enforced" or "annotation", "note"}]. Others are refused. */
SKIPSTONE_API skipstone_status skipstone_grammar_keywords(char** json);

/* ---- states ------------------------------------------------------------------------------------------------------------- */

/* Where a text is in a grammar: a value, cheap to copy. Used by one thread at a time; copies may be used by others. */
typedef struct skipstone_grammar_state skipstone_grammar_state;

SKIPSTONE_API skipstone_status skipstone_grammar_state_create(const skipstone_grammar* grammar, skipstone_grammar_state** state);
SKIPSTONE_API skipstone_status skipstone_grammar_state_copy(const skipstone_grammar_state* state, skipstone_grammar_state** copy);

/* NULL is fine. */
SKIPSTONE_API void skipstone_grammar_state_free(skipstone_grammar_state* state);

/* Reads text up to the first byte that does not fit; `*fitting` is how many bytes fit. Where not all do, nothing fits the state any more.
 * SKIPSTONE_UNSUPPORTED where the grammar is too ambiguous to follow. */
SKIPSTONE_API skipstone_status skipstone_grammar_state_advance(skipstone_grammar_state* state, const char* text, size_t bytes, size_t* fitting);

/* 1: the text may end here. 0 for NULL. */
SKIPSTONE_API int32_t skipstone_grammar_state_accepts(const skipstone_grammar_state* state);

/* The bytes that must come next, at most `most`: as long as the text cannot end and only one byte may follow. `*bytes` is their number. */
SKIPSTONE_API skipstone_status skipstone_grammar_state_forced(const skipstone_grammar_state* state, size_t most, char** text, size_t* bytes);

/* ---- masks -------------------------------------------------------------------------------------------------------------- */

/* The bytes of the tokens. Immutable; may be shared by threads and grammars. */
typedef struct skipstone_vocabulary skipstone_vocabulary;

/* `texts` and `bytes`: of each of `count` tokens; control tokens have 0 bytes and are never allowed, but for the `end_count` tokens `ends`,
 * which are where the text may end. */
SKIPSTONE_API skipstone_status skipstone_vocabulary_create(const char* const* texts, const size_t* bytes, size_t count,
                                                           const skipstone_token* ends, size_t end_count, skipstone_vocabulary** vocabulary);

/* That of a model, for constraints of the caller's: skipstone_session_params.grammar needs none. Its end tokens are those that end a text.
 * SKIPSTONE_UNSUPPORTED where the model has no tokenizer or no such token. */
SKIPSTONE_API skipstone_status skipstone_vocabulary_of(const skipstone_engine* engine, skipstone_vocabulary** vocabulary);

/* NULL is fine. */
SKIPSTONE_API void skipstone_vocabulary_free(skipstone_vocabulary* vocabulary);

/* The tokens that may come next: bit i % 32 of words[i / 32] is token i. `word_count` is at least (count + 31) / 32; further words become 0.
 * Masks are cached with the grammar, for each vocabulary. */
SKIPSTONE_API skipstone_status skipstone_grammar_state_mask(const skipstone_grammar_state* state, const skipstone_vocabulary* vocabulary,
                                                            uint32_t* words, size_t word_count);

#ifdef __cplusplus
}
#endif

#endif
