// Grammars, their states, and masks over a vocabulary.
#include "skipstone/grammar.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/guard.h"
#include "grammar/gbnf.h"
#include "grammar/regex.h"
#include "grammar/schema/keywords.h"
#include "grammar/schema/schema.h"
#include "grammar/token_masks.h"
#include "json/json.h"

namespace skipstone::api {
namespace {

/// A grammar and its masks, which states share.
struct GrammarParts {
  std::shared_ptr<const grammar::Automaton> automaton;
  std::mutex mutex;
  std::map<std::shared_ptr<const grammar::TokenTrie>, std::shared_ptr<grammar::TokenMasks>> masks;

  std::shared_ptr<grammar::TokenMasks> masks_of(const std::shared_ptr<const grammar::TokenTrie>& trie) {
    const std::scoped_lock lock(mutex);
    std::shared_ptr<grammar::TokenMasks>& known = masks[trie];
    if (!known) known = std::make_shared<grammar::TokenMasks>(automaton, trie);
    return known;
  }
};

}  // namespace

template <>
skipstone_grammar_params defaults<skipstone_grammar_params>() {
  return {};
}

}  // namespace skipstone::api

using namespace skipstone;

struct skipstone_grammar {
  std::shared_ptr<api::GrammarParts> parts;
};

struct skipstone_grammar_state {
  std::shared_ptr<api::GrammarParts> parts;
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

}  // namespace

extern "C" {

void skipstone_grammar_params_init(skipstone_grammar_params* params, size_t struct_size) { api::init(params, struct_size); }

skipstone_status skipstone_grammar_create(const skipstone_grammar_params* params, skipstone_grammar** grammar) {
  return api::guard([&] {
    api::require(grammar, "grammar");
    *grammar = nullptr;
    api::require(params, "params");
    const auto parts = std::make_shared<api::GrammarParts>();
    parts->automaton = grammar::Automaton::make(syntax_of(api::read_params(params)));
    *grammar = new skipstone_grammar{parts};
  });
}

void skipstone_grammar_free(skipstone_grammar* grammar) { delete grammar; }

skipstone_status skipstone_grammar_to_gbnf(const skipstone_grammar* grammar, char** text) {
  return api::guard([&] {
    api::require(text, "text");
    *text = nullptr;
    api::require(grammar, "grammar");
    *text = api::copy_string(grammar::to_gbnf(grammar->parts->automaton->syntax()));
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
    *state = new skipstone_grammar_state{grammar->parts, grammar->parts->automaton->start()};
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
    const auto mask = state->parts->masks_of(vocabulary->trie)->mask(state->state);
    std::ranges::fill(std::ranges::copy(*mask, words).out, words + word_count, 0U);
  });
}

}  // extern "C"
