#include <algorithm>
#include <string>
#include <unordered_map>

#include "base/status.h"
#include "gguf/gguf.h"
#include "text/segmenter.h"
#include "text/special_tokens.h"

namespace skipstone::text {
namespace {

// Names of the token that ends a turn or a text in common chat formats; llama.cpp's llama-vocab.cpp (0.7.0) has them too, except a few
// that were here before. `always`: the text has no other use, so it counts even in files that call it normal, as some did.
struct EndName {
  std::string_view written;
  bool always;
};
constexpr EndName end_names[] = {
    {"</s>", false},                  // Llama 1 and 2, Mistral
    {"<eos>", false},                 // Gemma
    {"<end_of_turn>", true},          // Gemma 1 to 3
    {"<turn|>", false},               // Gemma 4
    {"<|tool_response>", false},      // Gemma 4
    {"<|endoftext|>", true},          // GPT-2, Qwen, Phi
    {"<|end_of_text|>", true},        // Llama 3, Granite
    {"<|eot_id|>", true},             // Llama 3
    {"<|eom_id|>", true},             // Llama 3.1
    {"<|eot|>", true},                // Llama 4
    {"<|im_end|>", true},             // ChatML
    {"<|end|>", true},                // Phi-3
    {"<|return|>", true},             // gpt-oss
    {"<|call|>", true},               // gpt-oss
    {"<|calls|>", true},              // Solar Open
    {"<|flush|>", true},              // Solar Open
    {"<|EOT|>", true},                // DeepSeek Coder
    {"<EOT>", false},                 // CodeLlama
    {"_<EOT>", false},                // files of CodeLlama
    {"[EOT]", false},                 // Kimi K2
    {"[EOS]", false},                 // Kimi K2
    {"[e~[", false},                  // MiniMax M2
    {"<|end_of_turn|>", true},        // OpenChat
    {"<|end_of_sentence|>", true},    // Ernie
    {"<end_of_utterance>", true},     // SmolVLM, Granite Docling
    {"<｜end▁of▁sentence｜>", true},  // DeepSeek
};

// Formats in which a name of the list has another meaning: in a vocabulary with all of `with`, `written` ends nothing unless the file
// names it as its EOS.
struct Exception {
  std::string_view written;
  std::string_view with[2];
};
constexpr Exception exceptions[] = {
    {"<|end|>", {"<|return|>", "<|call|>"}},    // gpt-oss (harmony): a message ends, the answer continues
    {"<|end|>", {"<|calls|>", "<|flush|>"}},    // Solar Open
    {"</s>", {"<|tool_response>", "<turn|>"}},  // Gemma 4: a tag of HTML
};

const EndName* end_name(std::string_view written) {
  const auto* found = std::find_if(std::begin(end_names), std::end(end_names), [&](const EndName& row) { return row.written == written; });
  return found == std::end(end_names) ? nullptr : found;
}

bool is_special(TokenType type) { return type == TokenType::control || type == TokenType::user_defined; }

bool counts(const EndName& name, TokenType type) { return is_special(type) || (name.always && type == TokenType::normal); }

using ByName = std::unordered_map<std::string_view, Token>;

void drop_exceptions(const ByName& named, Token eos, std::vector<Token>& ends) {
  for (const Exception& row : exceptions) {
    const auto found = named.find(row.written);
    const bool applies = std::all_of(std::begin(row.with), std::end(row.with), [&](std::string_view w) { return named.contains(w); });
    if (found == named.end() || !applies || found->second == eos) continue;
    std::erase(ends, found->second);
  }
}

}  // namespace

bool is_end_name(std::string_view written, TokenType type) {
  const EndName* name = end_name(written);
  return name != nullptr && counts(*name, type);
}

void collect_end_tokens(Vocabulary& vocabulary, const std::vector<Token>& more) {
  std::vector<Token>& ends = vocabulary.end_of_generation;
  ends.insert(ends.end(), more.begin(), more.end());
  for (const Token token : {vocabulary.eos, vocabulary.eot, vocabulary.eom}) {
    if (token >= 0) ends.push_back(token);
  }
  ByName named;
  for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    const EndName* name = end_name(vocabulary.tokens[i]);
    if (name == nullptr) continue;
    const auto token = static_cast<Token>(i);
    const TokenType type = type_of(vocabulary, token);
    if (!counts(*name, type)) continue;
    if (!is_special(type)) {
      if (vocabulary.types.empty()) vocabulary.types.assign(vocabulary.tokens.size(), TokenType::normal);
      vocabulary.types[i] = TokenType::control;
    }
    ends.push_back(token);
    named.emplace(name->written, token);
  }
  drop_exceptions(named, vocabulary.eos, ends);
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
}

std::vector<Token> listed_end_tokens(const gguf::File& file, std::size_t size) {
  std::vector<Token> tokens;
  if (file.find(end_tokens_key) == nullptr) return tokens;
  for (const std::int32_t id : file.integers(end_tokens_key)) {
    if (id < 0 || static_cast<std::size_t>(id) >= size) {
      fail(Code::bad_file, "{}: {} has {}, but the vocabulary has {} tokens (ids 0 to {}).", file.path(), end_tokens_key, id, size,
           size - 1);
    }
    tokens.push_back(id);
  }
  return tokens;
}

}  // namespace skipstone::text
