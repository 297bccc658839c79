// Grammars, their states, and masks over a vocabulary.
#include "skipstone/grammar.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/guard.h"
#include "api/handles.h"
#include "chat/output/markers.h"
#include "chat/output/output_format.h"
#include "engine/engine_state.h"
#include "grammar/grammar.h"
#include "grammar/notations.h"
#include "grammar/schema/keywords.h"
#include "json/json.h"

namespace skipstone::api {
template <>
skipstone_grammar_params defaults<skipstone_grammar_params>() {
  return {};
}

}  // namespace skipstone::api

using namespace skipstone;

struct skipstone_grammar_state {
  std::shared_ptr<grammar::Grammar> grammar;
  grammar::State state;
};

struct skipstone_vocabulary {
  std::shared_ptr<const grammar::TokenTrie> trie;
};

namespace {

grammar::Syntax syntax_of(const skipstone_grammar_params& params) {
  if (params.any_form != 0 && params.any_form != 1) fail(Code::invalid_argument, "any_form is {}; 0 or 1 was expected", params.any_form);
  const grammar::Form form = params.any_form == 1 ? grammar::Form::any : grammar::Form::writing;
  if (params.kind == SKIPSTONE_GRAMMAR_JSON_OBJECT) return grammar::schema::any_object(form);
  api::require_array(params.text, std::max<std::size_t>(params.text_bytes, 1), api::most_text_bytes, "text");
  const std::string_view text(params.text, params.text_bytes > 0 ? params.text_bytes : std::strlen(params.text));
  switch (params.kind) {
    case SKIPSTONE_GRAMMAR_GBNF:
      return grammar::parse_gbnf(text);
    case SKIPSTONE_GRAMMAR_JSON_SCHEMA:
      return grammar::schema::parse_schema(text, form);
    case SKIPSTONE_GRAMMAR_REGEX:
      return grammar::parse_regex(text);
    default:
      fail(Code::invalid_argument, "there is no kind of grammar {}", params.kind);
  }
}

/// What a chat's answers have around their text.
grammar::AnswerForm answer_form(const chat::ChatPrompt& prompt, std::string_view prompt_end) {
  const chat::OutputFormat& format = prompt.output_format(false);
  grammar::AnswerForm form;
  if (format.syntax == chat::CallSyntax::channels) {
    form.header = chat::answer_header;
    form.reasoning.push_back({std::string(chat::reasoning_header), std::string(chat::after_reasoning) + form.header});
    return form;
  }
  form.content = {std::string(format.content.open), std::string(format.content.close)};
  for (const chat::Tags& tags : format.reasoning) {
    if (tags.open.empty()) continue;
    const bool begun = chat::without_blanks_at_end(prompt_end).ends_with(tags.open);
    if (!begun && !prompt.chat_template().can().reasoning) continue;
    form.reasoning.insert(begun ? form.reasoning.begin() : form.reasoning.end(), {std::string(tags.open), std::string(tags.close)});
    form.begun = form.begun || begun;
  }
  return form;
}

/// Where a vocabulary has control tokens for parts of a form's texts, those are how a model writes them. Returns their texts.
std::vector<std::string> spell_with_control_tokens(grammar::AnswerForm& form, const text::Tokenizer& tokenizer) {
  const text::Vocabulary& vocabulary = tokenizer.vocabulary();
  std::set<std::string> markers;
  for (const std::string& written : form.texts()) {
    std::string spelled, plain;
    std::set<std::string> named;
    for (const text::Token token : tokenizer.encode(written, false, true)) {
      const auto index = static_cast<std::size_t>(token);
      const bool control = index < vocabulary.types.size() && vocabulary.types[index] == text::TokenType::control;
      spelled += control ? grammar::control_token_bytes(vocabulary.tokens[index]) : tokenizer.piece(token);
      plain += control ? vocabulary.tokens[index] : tokenizer.piece(token);
      if (control) named.insert(vocabulary.tokens[index]);
    }
    if (named.empty()) continue;
    if (plain == " " + written) spelled.erase(0, 1);  // a tokenizer that begins texts with a blank
    form.spelled[written] = spelled;
    markers.merge(named);
  }
  return {markers.begin(), markers.end()};
}

}  // namespace

extern "C" {

void skipstone_grammar_params_init(skipstone_grammar_params* params, size_t struct_size) { api::init(params, struct_size); }

skipstone_status skipstone_grammar_create(const skipstone_grammar_params* params, skipstone_grammar** grammar) {
  return api::guard([&] {
    api::require(grammar, "grammar");
    *grammar = nullptr;
    api::require(params, "params");
    *grammar = new skipstone_grammar{std::make_shared<grammar::Grammar>(grammar::Automaton::make(syntax_of(api::read_params(params))))};
  });
}

void skipstone_grammar_free(skipstone_grammar* grammar) { delete grammar; }

skipstone_status skipstone_grammar_to_gbnf(const skipstone_grammar* grammar, char** text) {
  return api::guard([&] {
    api::require(text, "text");
    *text = nullptr;
    api::require(grammar, "grammar");
    *text = api::copy_string(grammar::to_gbnf(grammar->grammar->automaton().syntax()));
  });
}

skipstone_status skipstone_chat_grammar(const skipstone_chat* chat, const skipstone_grammar* grammar, const char* prompt_end,
                                        skipstone_grammar** answer) {
  return api::guard([&] {
    api::require(answer, "answer");
    *answer = nullptr;
    api::require(chat, "chat");
    api::require(grammar, "grammar");
    grammar::AnswerForm form = answer_form(*chat->prompt, prompt_end == nullptr ? "" : prompt_end);
    const std::vector<std::string> markers = spell_with_control_tokens(form, chat->prompt->tokenizer());
    *answer = new skipstone_grammar{grammar->grammar->answers(form, markers)};
  });
}

skipstone_status skipstone_grammar_keywords(char** json) {
  return api::guard([&] {
    api::require(json, "json");
    *json = nullptr;
    Json all = Json::array();
    for (const grammar::schema::Keyword& keyword : grammar::schema::keywords()) {
      const bool enforced = keyword.treatment == grammar::schema::Treatment::enforced;
      all.push_back({{"name", keyword.name}, {"treatment", enforced ? "enforced" : "annotation"}, {"note", keyword.note}});
    }
    *json = api::copy_string(api::print(all));
  });
}

skipstone_status skipstone_grammar_state_create(const skipstone_grammar* grammar, skipstone_grammar_state** state) {
  return api::guard([&] {
    api::require(state, "state");
    *state = nullptr;
    api::require(grammar, "grammar");
    *state = new skipstone_grammar_state{grammar->grammar, grammar->grammar->automaton().start()};
  });
}

skipstone_status skipstone_grammar_state_copy(const skipstone_grammar_state* state, skipstone_grammar_state** copy) {
  return api::guard([&] {
    api::require(copy, "copy");
    *copy = nullptr;
    api::require(state, "state");
    *copy = new skipstone_grammar_state(*state);
  });
}

void skipstone_grammar_state_free(skipstone_grammar_state* state) { delete state; }

skipstone_status skipstone_grammar_state_advance(skipstone_grammar_state* state, const char* text, size_t bytes, size_t* fitting) {
  return api::guard([&] {
    api::require(state, "state");
    api::require(fitting, "fitting");
    *fitting = 0;
    api::require_array(text, bytes, api::most_text_bytes, "text");
    *fitting = state->state.read(std::string_view(text, bytes));
  });
}

int32_t skipstone_grammar_state_accepts(const skipstone_grammar_state* state) {
  bool accepts = false;
  api::guard([&] { accepts = state != nullptr && state->state.accepts(); });
  return accepts ? 1 : 0;
}

skipstone_status skipstone_grammar_state_forced(const skipstone_grammar_state* state, size_t most, char** text, size_t* bytes) {
  return api::guard([&] {
    api::require(text, "text");
    *text = nullptr;
    api::require(bytes, "bytes");
    api::require(state, "state");
    const std::string forced = state->state.forced_bytes(std::min(most, api::most_text_bytes));
    *text = api::copy_string(forced);
    *bytes = forced.size();
  });
}

skipstone_status skipstone_vocabulary_create(const char* const* texts, const size_t* bytes, size_t count, const skipstone_token* ends,
                                             size_t end_count, skipstone_vocabulary** vocabulary) {
  return api::guard([&] {
    api::require(vocabulary, "vocabulary");
    *vocabulary = nullptr;
    api::require_array(texts, count, api::most_tokens, "tokens");
    api::require_array(bytes, count, api::most_tokens, "tokens");
    api::require_array(ends, end_count, api::most_tokens, "end tokens");
    std::vector<std::string> pieces;
    for (std::size_t i = 0; i < count; ++i) {
      api::require_array(texts[i], bytes[i], api::most_text_bytes, "a token's text");
      pieces.emplace_back(bytes[i] > 0 ? std::string(texts[i], bytes[i]) : std::string());
    }
    std::vector<std::uint32_t> end_tokens;
    for (std::size_t i = 0; i < end_count; ++i) end_tokens.push_back(static_cast<std::uint32_t>(ends[i]));
    *vocabulary = new skipstone_vocabulary{std::make_shared<const grammar::TokenTrie>(pieces, std::move(end_tokens))};
  });
}

skipstone_status skipstone_vocabulary_of(const skipstone_engine* engine, skipstone_vocabulary** vocabulary) {
  return api::guard([&] {
    api::require(vocabulary, "vocabulary");
    *vocabulary = nullptr;
    api::require(engine, "engine");
    engine::Engine& e = *engine->engine;
    *vocabulary = new skipstone_vocabulary{e.state().caches.token_bytes.of(e.tokenizer())->trie};
  });
}

void skipstone_vocabulary_free(skipstone_vocabulary* vocabulary) { delete vocabulary; }

skipstone_status skipstone_grammar_state_mask(const skipstone_grammar_state* state, const skipstone_vocabulary* vocabulary, uint32_t* words,
                                              size_t word_count) {
  return api::guard([&] {
    api::require(state, "state");
    api::require(vocabulary, "vocabulary");
    api::require_array(words, word_count, api::most_tokens, "words");
    if (word_count < vocabulary->trie->mask_words()) {
      fail(Code::invalid_argument, "a mask over {} tokens has {} words, and there is room for {}", vocabulary->trie->vocabulary(),
           vocabulary->trie->mask_words(), word_count);
    }
    const auto mask = state->grammar->masks_over(vocabulary->trie)->mask(state->state);
    std::ranges::fill(std::ranges::copy(*mask, words).out, words + word_count, 0U);
  });
}

}  // extern "C"
