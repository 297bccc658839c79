#include "convert/tokenizer.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/platform/files.h"
#include "base/status.h"
#include "convert/json_file.h"
#include "convert/sentencepiece_model.h"
#include "json/json.h"
#include "text/pretokenizer.h"
#include "text/special_tokens.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace skipstone::convert {
namespace {

using text::TokenType;

/// Meta's own release of Llama 3 has a tokenizer.model that is not SentencePiece's but lines of base64 and rank, "IQ== 0" first.
bool is_tiktoken(const std::string& path) { return read_file(path).starts_with("IQ== 0"); }

SourceTokenizer read_source(const std::string& folder, std::uint32_t rows, const model::TokenizerFacts& facts, const std::string& pre) {
  const std::string model = folder + "/tokenizer.model";
  const std::string json_file = folder + "/tokenizer.json";
  const bool tiktoken = platform::is_there(model) && is_tiktoken(model);
  if (platform::is_there(model) && !tiktoken) return read_sentencepiece_model(model, rows);
  if (platform::is_there(json_file)) return read_tokenizer_json(json_file, rows, facts, pre);
  if (tiktoken) {
    fail(Code::unsupported, "{}: is a list of tiktoken, not a SentencePiece model; the tokenizer.json of the same model can be converted",
         model);
  }
  fail(Code::not_found, "{}: has neither a tokenizer.model nor a tokenizer.json; the model cannot be used without its tokenizer", folder);
}

std::string read_template(const std::string& path) {
  std::string text = read_file(path);
  const std::size_t bad = text::find_invalid_utf8(text);
  if (bad != std::string::npos) fail(Code::bad_file, "{}: is not UTF-8 at byte {}", path, bad);
  return text;
}

constexpr std::size_t longest_template_name = 64;  // it is a part of a key of the file

/// The folder's chat templates by name, "default" for the usual one: of tokenizer_config.json, else of files of their own.
std::map<std::string, std::string> chat_templates_of(const std::string& folder, const SortedJson& tokenizer_config) {
  std::map<std::string, std::string> all;
  const SortedJson& value = member(tokenizer_config, "chat_template");
  if (value.is_string()) all["default"] = value.get<std::string>();
  if (value.is_array()) {
    for (const SortedJson& each : value) {
      const auto name = string_member(each, "name"), source = string_member(each, "template");
      if (name && source) all.emplace(*name, *source);
    }
  }
  constexpr std::string_view ending = ".jinja";
  const std::string usual = folder + "/chat_template.jinja", others = folder + "/additional_chat_templates/";
  if (!all.contains("default") && platform::is_there(usual)) all["default"] = read_template(usual);
  for (const std::string& file : platform::names_in(others)) {
    const std::string name = file.substr(0, file.size() - std::min(file.size(), ending.size()));
    if (!file.ends_with(ending) || all.contains(name)) continue;
    try {
      all[name] = read_template(others + file);
    } catch (const Error& error) {
      log::warning("{}; this template is left out.", error.what());
    }
  }
  std::erase_if(all,
                [](const auto& each) { return each.first.empty() || each.first.size() > longest_template_name || each.second.empty(); });
  return all;
}

/// The usual template, and the names and sources of others, as llama.cpp's converter writes them.
void write_chat_templates(std::map<std::string, std::string> templates, gguf::Writer& writer) {
  const std::string key = "tokenizer.chat_template", prefix = key + '.';
  if (const auto usual = templates.extract("default"); !usual.empty()) writer.set(key, usual.mapped());
  std::vector<std::string> names;
  for (const auto& [name, source] : templates) {
    names.push_back(name);
    writer.set(prefix + name, source);
  }
  if (!names.empty()) writer.set_strings("tokenizer.chat_templates", std::move(names));
}

/// Spaces in place of U+2581: GGUF's llama tokenizer looks for user-defined tokens in the text itself.
std::string with_spaces(const std::string& token) {
  std::string written;
  for (std::size_t at = 0; at < token.size();) {
    const std::size_t mark = std::min(token.find(text::visible_space, at), token.size());
    written.append(token, at, mark - at);
    if (mark < token.size()) written.push_back(' ');
    at = mark + text::visible_space.size();
  }
  return written;
}

/// The tokenizer as this program will read it from the file, checked.
text::Vocabulary finish(SourceTokenizer& source, const SpecialTokens& special, const std::string& folder) {
  text::Vocabulary v;
  v.model = source.model;
  v.pre = source.pre;
  v.tokens = std::move(source.tokens.texts);
  v.scores = std::move(source.tokens.scores);
  v.types = std::move(source.tokens.types);
  v.merges = std::move(source.merges);
  v.bos = special.bos;
  v.eos = special.eos;
  v.eot = special.eot;
  v.eom = special.eom;
  v.unknown = special.unknown;
  v.flags = std::move(source.tokens.flags);
  v.add_bos = source.add_bos.value_or(false);
  v.add_eos = source.add_eos.value_or(false);
  v.add_space_prefix = source.add_space_prefix;
  for (std::size_t i = 0; i < v.tokens.size(); ++i) {
    if (v.model == "llama" && v.types[i] == TokenType::user_defined) v.tokens[i] = with_spaces(v.tokens[i]);
  }
  try {
    text::check_vocabulary(v, Code::bad_file);
  } catch (const Error& error) {
    fail(error.code(), "{}: {}", folder, error.what());
  }
  return v;
}

void set_id(gguf::Writer& writer, const char* key, text::Token token) {
  if (token >= 0) writer.set(key, static_cast<std::uint32_t>(token));
}

/// The keys in the order and with the types of llama.cpp's converter. Values that a reader assumes for absent keys are not written.
void write_keys(text::Vocabulary v, const SourceTokenizer& source, text::Token padding, gguf::Writer& writer) {
  const bool llama = v.model == "llama";
  std::vector<std::int32_t> types;
  types.reserve(v.types.size());
  for (const TokenType type : v.types) types.push_back(static_cast<std::int32_t>(type));
  const bool bos_by_default = llama || text::PreTokenizer::adds_bos_by_default(v.pre);
  writer.set("tokenizer.ggml.model", v.model);
  writer.set("tokenizer.ggml.pre", v.pre);
  writer.set_strings("tokenizer.ggml.tokens", std::move(v.tokens));
  if (llama) writer.set_floats("tokenizer.ggml.scores", std::move(v.scores));
  writer.set_integers("tokenizer.ggml.token_type", std::move(types));
  if (!llama) writer.set_strings("tokenizer.ggml.merges", std::move(v.merges));
  set_id(writer, "tokenizer.ggml.bos_token_id", v.bos);
  set_id(writer, "tokenizer.ggml.eos_token_id", v.eos);
  set_id(writer, "tokenizer.ggml.eot_token_id", v.eot);
  set_id(writer, "tokenizer.ggml.eom_token_id", v.eom);
  set_id(writer, "tokenizer.ggml.unknown_token_id", v.unknown);
  set_id(writer, "tokenizer.ggml.padding_token_id", padding);
  if (source.add_bos || bos_by_default) writer.set("tokenizer.ggml.add_bos_token", v.add_bos);
  if (source.add_eos) writer.set("tokenizer.ggml.add_eos_token", v.add_eos);
  if (v.add_space_prefix != llama) writer.set("tokenizer.ggml.add_space_prefix", v.add_space_prefix);
  if (source.remove_extra_whitespaces) writer.set("tokenizer.ggml.remove_extra_whitespaces", true);
}

/// Writes this project's keys for properties without a GGUF key.
void write_own_keys(const text::Vocabulary& v, const std::vector<text::Token>& more_ends, gguf::Writer& writer) {
  const auto write = [&](std::string_view key, const std::vector<std::int32_t>& ids) {
    if (!ids.empty()) writer.set_integers(std::string(key), ids);
  };
  for (const text::TokenFlagKey& row : text::token_flag_keys) {
    std::vector<std::int32_t> ids;
    for (const auto& [token, flags] : v.flags) {
      if (flags.*row.flag) ids.push_back(token);
    }
    write(row.key, ids);
  }
  write(text::end_tokens_key, more_ends);
}

}  // namespace

void write_tokenizer(const std::string& folder, std::uint32_t vocabulary, gguf::Writer& writer, const model::TokenizerFacts& facts,
                     const std::string& pre) {
  constexpr std::uint32_t most_rows = 1u << 24;  // sixty times the largest vocabulary in use; more means a damaged file
  if (vocabulary == 0 || vocabulary > most_rows) {
    fail(Code::bad_file, "{}: the model's embedding has {} rows; a vocabulary has 1 to {} tokens", folder, vocabulary, most_rows);
  }
  if (!pre.empty()) text::PreTokenizer::require(pre);
  SourceTokenizer source = read_source(folder, vocabulary, facts, pre);
  if (!pre.empty() && source.model != "gpt2") {
    fail(Code::invalid_argument, "{}: the pre-tokenizer {} was asked for, but only byte-level BPE has one, and this is SentencePiece",
         folder, pre);
  }
  const SortedJson config = read_json_object_if_there(folder + "/tokenizer_config.json");
  add_extra_tokens(folder, config, source.tokens);
  if (const auto said = boolean_member(config, "add_bos_token")) source.add_bos = said;
  if (const auto said = boolean_member(config, "add_eos_token")) source.add_eos = said;
  const auto prefix = boolean_member(config, "add_prefix_space");
  if (prefix && source.model == "llama") source.add_space_prefix = *prefix;
  if (facts.no_space_prefix) source.add_space_prefix = source.remove_extra_whitespaces = false;
  source.tokens.fill_up();
  const SpecialTokens special = find_special_tokens(folder, config, facts, source);
  // A token around each text whose row the model does not have is left out with it.
  if (special.bos < 0 && source.text_begin && source.tokens.has_left_out(*source.text_begin)) source.add_bos = false;
  if (special.eos < 0 && source.text_end && source.tokens.has_left_out(*source.text_end)) source.add_eos = false;
  const text::Vocabulary vocabulary_read = finish(source, special, folder);
  write_own_keys(vocabulary_read, special.more_ends, writer);
  write_keys(vocabulary_read, source, special.padding, writer);
  write_chat_templates(chat_templates_of(folder, config), writer);
}

}  // namespace skipstone::convert
