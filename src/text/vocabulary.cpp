#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/escape.h"
#include "base/log.h"
#include "base/status.h"
#include "gguf/gguf.h"
#include "text/pretokenizer.h"
#include "text/segmenter.h"
#include "text/special_tokens.h"
#include "text/tokenizer.h"

namespace skipstone::text {
namespace {

bool is_negative(const gguf::Value& value) {
  return std::visit(
      [](const auto& number) {
        if constexpr (std::signed_integral<std::decay_t<decltype(number)>>) return number < 0;
        return false;
      },
      value);
}

/// Reads special tokens by the names of their keys. An id outside the vocabulary, which files in use have for padding and after their
/// embedding was cut, is that of no token.
class SpecialIds {
 public:
  SpecialIds(const gguf::File& file, std::size_t size) : file_(file), size_(size) {}

  /// `fallback`: what an absent key means.
  Token read(const std::string& name, Token fallback = -1) {
    const std::string key = "tokenizer.ggml." + name;
    const gguf::Value* value = file_.find(key);
    const Token otherwise = fallback >= 0 && static_cast<std::size_t>(fallback) < size_ ? fallback : -1;
    if (value == nullptr) return otherwise;
    if (!is_negative(*value) && file_.integer(key, 0) < size_) return static_cast<Token>(file_.integer(key, 0));
    outside_ += fmt::format("{}{} {}", outside_.empty() ? "" : ", ", name, gguf::to_display(*value));
    return otherwise;
  }

  /// The ids outside the vocabulary that were read so far; "" for none.
  std::string take_outside() { return std::exchange(outside_, {}); }

 private:
  const gguf::File& file_;
  std::size_t size_;
  std::string outside_;
};

// Names as in https://github.com/ggml-org/ggml/blob/master/docs/gguf.md and gguf-py's constants.py.

/// Returns whether ids of tokens that a tokenizer needs are outside the vocabulary, which has been said then.
bool read_special_tokens(const gguf::File& file, Vocabulary& v) {
  SpecialIds ids(file, v.tokens.size());
  // Defaults for absent keys: LLaMA's own SentencePiece model has <unk> 0, <s> 1, </s> 2.
  const bool llama = v.model == "llama";
  v.bos = ids.read("bos_token_id", llama ? 1 : -1);
  v.eos = ids.read("eos_token_id", llama ? 2 : -1);
  v.unknown = ids.read("unknown_token_id", llama ? 0 : -1);
  v.eot = ids.read("eot_token_id");
  const std::string outside = ids.take_outside();
  if (!outside.empty()) {
    log::warning("{}: special tokens with ids outside the vocabulary of {} tokens ({}) are not used.", file.path(), v.tokens.size(),
                 outside);
  }
  const auto read = [&](const char* name, const char* older) {
    return file.find(std::string("tokenizer.ggml.") + name) == nullptr ? ids.read(older) : ids.read(name);
  };
  v.eom = ids.read("eom_token_id");
  v.padding = ids.read("padding_token_id");
  v.fill_prefix = read("fim_pre_token_id", "prefix_token_id");
  v.fill_suffix = read("fim_suf_token_id", "suffix_token_id");
  v.fill_middle = read("fim_mid_token_id", "middle_token_id");
  if (const std::string unused = ids.take_outside(); !unused.empty()) log::info("{}: outside the vocabulary: {}", file.path(), unused);
  return !outside.empty();
}

/// Texts go without a token at their ends that the file asks for and does not name. `told`: a warning has said why.
void leave_out_unnamed(const std::string& path, bool told, Vocabulary& v) {
  const auto leave_out = [&](bool& added, Token token, const char* name) {
    if (!added || token >= 0) return;
    added = false;
    if (!told) log::warning("{}: asks for a token {} with each text but does not name it; texts go without one.", path, name);
  };
  leave_out(v.add_bos, v.bos, "BOS");
  leave_out(v.add_eos, v.eos, "EOS");
}

std::vector<TokenType> token_types(const gguf::File& file) {
  constexpr std::string_view type_key = "tokenizer.ggml.token_type";
  std::vector<TokenType> types;
  if (file.find(type_key) == nullptr) return types;
  for (const std::int32_t number : file.integers(type_key)) {
    // 0 is "undefined", which some converters write for ordinary tokens.
    if (number < 0 || number > 6)
      fail(Code::bad_file, "{}: {} has {} for token {}; types are 1 to 6.", file.path(), type_key, number, types.size());
    types.push_back(number == 0 ? TokenType::normal : static_cast<TokenType>(number));
  }
  return types;
}

void check_lengths(const Vocabulary& v, Code code) {
  const std::size_t size = v.tokens.size();
  if (size == 0) fail(code, "The vocabulary has no tokens.");
  if (size > static_cast<std::size_t>(std::numeric_limits<Token>::max()))
    fail(code, "The vocabulary has {} tokens; ids end at 2147483647.", size);
  if (!v.types.empty() && v.types.size() != size) fail(code, "The vocabulary has {} tokens but {} token types.", size, v.types.size());
  if (v.model != "llama") return;
  if (v.scores.size() != size)
    fail(code, "The vocabulary has {} tokens but {} scores; a \"llama\" tokenizer needs one for each.", size, v.scores.size());
  for (std::size_t i = 0; i < size; ++i) {
    if (std::isnan(v.scores[i])) fail(code, "The score of token {} is not a number.", i);
  }
}

void check_chosen(const std::string& pre, const std::string& model, const gguf::File& file) {
  PreTokenizer::require(pre);
  if (model == "gpt2") return;
  fail(Code::invalid_argument, "{}: the pre-tokenizer {} was asked for, but only byte-level BPE (gpt2) has one, and this tokenizer is {}.",
       file.path(), pre, shortened(model));
}

}  // namespace

void check_vocabulary(const Vocabulary& v, Code code) {
  if (v.model != "llama" && v.model != "gpt2" && v.model != "gemma4") {
    fail(Code::unsupported,
         "The tokenizer model \"{}\" (tokenizer.ggml.model) is not known to this build; it knows llama, gpt2 and gemma4.", v.model);
  }
  check_lengths(v, code);
  const auto in_range = [&v](Token token) { return token >= 0 && static_cast<std::size_t>(token) < v.tokens.size(); };
  const auto check_id = [&](const char* name, Token token) {
    if (token != -1 && !in_range(token)) fail(code, "The vocabulary's {} token is {}, but it has {} tokens.", name, token, v.tokens.size());
  };
  check_id("BOS", v.bos);
  check_id("EOS", v.eos);
  check_id("EOT", v.eot);
  check_id("unknown", v.unknown);
  for (const Token token : v.end_of_generation) {
    if (!in_range(token)) fail(code, "The vocabulary ends a text with token {}, but it has {} tokens.", token, v.tokens.size());
  }
  if (v.add_bos && v.bos < 0) fail(code, "The vocabulary asks for a BOS token before each text but names none.");
  if (v.add_eos && v.eos < 0) fail(code, "The vocabulary asks for an EOS token after each text but names none.");
}

TokenType type_of(const Vocabulary& vocabulary, Token token) {
  return vocabulary.types.empty() ? TokenType::normal : vocabulary.types[static_cast<std::size_t>(token)];
}

Vocabulary Vocabulary::from(const gguf::File& file, const std::string& pre) {
  Vocabulary v;
  v.model = file.string("tokenizer.ggml.model", "");
  if (v.model.empty()) fail(Code::bad_file, "{} has no tokenizer (tokenizer.ggml.model is missing).", file.path());
  const std::vector<std::string>* tokens = file.strings("tokenizer.ggml.tokens");
  if (tokens == nullptr || tokens->empty())
    fail(Code::bad_file, "{} has no vocabulary (tokenizer.ggml.tokens is missing or empty).", file.path());
  if (!pre.empty()) check_chosen(pre, v.model, file);
  v.tokens = *tokens;
  v.types = token_types(file);
  const std::size_t size = v.tokens.size();

  const bool told = read_special_tokens(file, v);
  const bool llama = v.model == "llama";  // LLaMA's own SentencePiece model puts BOS and a space before a text
  bool bos_by_default = llama;
  if (llama) {
    v.scores = file.floats("tokenizer.ggml.scores");
    v.pre = "default";
  } else if (v.model == "gpt2" || v.model == "gemma4") {
    const std::vector<std::string>* merges = file.strings("tokenizer.ggml.merges");
    if (merges == nullptr) {
      fail(Code::bad_file, "{} has a {} tokenizer without merges (tokenizer.ggml.merges is missing).", file.path(), v.model);
    }
    v.merges = *merges;
  }
  if (v.model == "gemma4") bos_by_default = true;
  if (v.model == "gpt2") {
    v.pre = pre.empty() ? file.string("tokenizer.ggml.pre", "") : pre;
    if (v.pre.empty()) {
      log::warning("{} does not name its pre-tokenizer (tokenizer.ggml.pre); using \"default\", which may cut words differently.",
                   file.path());
      v.pre = "default";
    }
    bos_by_default = PreTokenizer::adds_bos_by_default(v.pre);
  }
  v.add_bos = file.boolean("tokenizer.ggml.add_bos_token", bos_by_default && v.bos >= 0);
  v.add_eos = file.boolean("tokenizer.ggml.add_eos_token", false);
  leave_out_unnamed(file.path(), told, v);
  v.add_space_prefix = file.boolean("tokenizer.ggml.add_space_prefix", llama);
  check_vocabulary(v, Code::bad_file);
  collect_end_tokens(v, listed_end_tokens(file, size));
  read_token_flags(file, v);
  return v;
}

std::vector<ChatTemplate> chat_templates(const gguf::File& file) {
  std::vector<ChatTemplate> all;
  const auto add = [&](const std::string& key, const std::string& name) {
    const gguf::Value* value = file.find(key);
    const auto* source = value == nullptr ? nullptr : std::get_if<std::string>(value);
    if (source != nullptr && !source->empty()) all.push_back({name, *source});
  };
  add("tokenizer.chat_template", "");
  if (const std::vector<std::string>* names = file.strings("tokenizer.chat_templates")) {
    for (const std::string& name : *names) {
      if (!name.empty()) add("tokenizer.chat_template." + name, name);
    }
  }
  // Some files have this one without a list of names.
  if (std::ranges::find(all, "tool_use", &ChatTemplate::name) == all.end()) add("tokenizer.chat_template.tool_use", "tool_use");
  return all;
}

}  // namespace skipstone::text
